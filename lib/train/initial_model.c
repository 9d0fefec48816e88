// SPDX-License-Identifier: MIT
#include "train/initial_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "nn/whitening.h"

// ---- The images of the smallest ids ----

typedef struct numbered_image {
    uint32_t id;
    const uint8_t *pixels;
    size_t bytes;
} numbered_image;

// Images that share an id are ordered by their pixels: then equal ones alone may change places.
static int compare_images(const void *a, const void *b) {
    const numbered_image *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return memcmp(x->pixels, y->pixels, x->bytes);
}

// Writes the pixels of the first WHITENING_IMAGES images that are not left out, in the order of
// their ids, to a list; free() it.
static status first_images(const dataset *d, const holdout *left, const uint8_t ***list,
                           size_t *count, error *err) {
    const size_t bytes = dataset_sample_bytes(d);
    size_t images = 0;
    numbered_image *all = memory_try_new(d->samples, sizeof *all, err);
    *list = all ? memory_new(WHITENING_IMAGES, sizeof **list) : NULL;
    if (!*list) {
        free(all);
        return STATUS_FAILED;
    }
    for (size_t i = 0; i < d->samples; i++)
        if (!left->out || !left->out[i])
            all[images++] = (numbered_image){d->ids[i], d->pixels[i], bytes};
    qsort(all, images, sizeof *all, compare_images);
    *count = images < WHITENING_IMAGES ? images : WHITENING_IMAGES;
    for (size_t i = 0; i < *count; i++) (*list)[i] = all[i].pixels;
    free(all);
    return STATUS_OK;
}

// ---- The model ----

static status whiten(const model *m, const model_tensor *t, const dataset *d, const holdout *left,
                     const normalization *n, float *parameters, error *err) {
    const uint8_t **pixels;
    size_t count;
    status rc = first_images(d, left, &pixels, &count, err);
    if (rc != STATUS_OK) return rc;
    const whitening_images images = {.pixels = pixels,
                                     .count = count,
                                     .channels = d->channels,
                                     .height = d->height,
                                     .width = d->width,
                                     .mean = n->mean,
                                     .std = n->std};
    const layer *l = &m->program.layers[t->layer];
    whitening_filters(&images, l->kernel_h, l->kernel_w, l->out.channels, parameters + t->offset);
    free(pixels);
    return rc;
}

status initial_model(const experiment *e, const dataset *train, const holdout *left,
                     const normalization *n, float *parameters, float *buffers, error *err) {
    const model *m = &e->model;
    status rc = STATUS_OK;
    model_init_parameters(m, e->seed, parameters, buffers);
    if (!e->tensors) return rc;
    tensor_settings_init(m, e->tensors, e->seed, parameters);
    for (int i = 0; rc == STATUS_OK && train->pixels && i < m->tensor_count; i++)
        if (e->tensors[i].init == INIT_WHITEN)
            rc = whiten(m, &m->tensors[i], train, left, n, parameters, err);
    return rc;
}

bool initial_model_is_set(const experiment *e) {
    for (int i = 0; e->tensors && i < e->model.tensor_count; i++)
        if (e->tensors[i].init != INIT_DEFAULT) return true;
    return false;
}
