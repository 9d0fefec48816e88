// SPDX-License-Identifier: MIT
#include "train/infer_views.h"

#include <stdlib.h>

#include "base/memory.h"

// Images that have their views at the same time: a multiple of every group size of the engines.
enum { AT_ONCE = 64 };

typedef struct view_room {
    uint8_t *images; // one scratch image, then the views
    const uint8_t **pixels;
    float *logits;
    double *sum;
} view_room;

static status room_new(const infer_views *v, view_room *r, error *err) {
    r->images = memory_try_new(AT_ONCE + 1, shape_size(v->size), err);
    r->pixels = memory_new(AT_ONCE, sizeof *r->pixels);
    r->logits = memory_try_new(AT_ONCE * (size_t)v->classes, sizeof *r->logits, err);
    r->sum = memory_try_new(AT_ONCE * (size_t)v->classes, sizeof *r->sum, err);
    return r->images && r->pixels && r->logits && r->sum ? STATUS_OK : STATUS_FAILED;
}

static void room_free(view_room *r) {
    free(r->images);
    free(r->pixels);
    free(r->logits);
    free(r->sum);
}

static status add_view(const infer_views *v, int view, const uint8_t *const *pixels, size_t samples,
                       view_room *r, error *err) {
    const double weight = views_weight(v->kind, view);
    for (size_t i = 0; i < samples; i++) {
        uint8_t *image = r->images + (i + 1) * shape_size(v->size);
        views_make(v->kind, view, v->size, pixels[i], r->images, image);
        r->pixels[i] = image;
    }
    status rc = v->infer(v->context, r->pixels, samples, r->logits, err);
    for (size_t i = 0; rc == STATUS_OK && i < samples * (size_t)v->classes; i++)
        r->sum[i] += weight * (double)r->logits[i];
    return rc;
}

// The mean of at most AT_ONCE images.
static status take_means(const infer_views *v, const uint8_t *const *pixels, size_t samples,
                         view_room *r, float *logits, error *err) {
    const size_t count = samples * (size_t)v->classes;
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) r->sum[i] = 0;
    for (int view = 0; rc == STATUS_OK && view < views_count(v->kind); view++)
        rc = add_view(v, view, pixels, samples, r, err);
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) logits[i] = (float)r->sum[i];
    return rc;
}

status infer_views_mean(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                        error *err) {
    const infer_views *v = context;
    if (v->kind == VIEWS_NONE) return v->infer(v->context, pixels, samples, logits, err);
    view_room r = {0};
    status rc = room_new(v, &r, err);
    for (size_t first = 0; rc == STATUS_OK && first < samples; first += AT_ONCE) {
        const size_t left = samples - first, count = left < AT_ONCE ? left : AT_ONCE;
        rc = take_means(v, pixels + first, count, &r, logits + first * (size_t)v->classes, err);
    }
    room_free(&r);
    return rc;
}
