// SPDX-License-Identifier: MIT
// Imports pictures that are already arrays: x and y of a .npz file.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/images/image_import.h"
#include "data/images/image_resize.h"
#include "data/images/npz.h"
#include "data/labels.h"

enum { ARRAYS = 8, PAIRS = ARRAYS / 2 };

// Pairs of pictures and labels: either of the first two pairs is one list, the last two are a
// split.
static const char *const array_names[ARRAYS] = {"x",       "y",       "images", "labels",
                                                "x_train", "y_train", "x_test", "y_test"};
enum { ONE_LIST = 2, TRAIN_PAIR = 2, TEST_PAIR = 3 };

typedef struct pictures {
    const uint8_t *pixels;
    const npz_array *labels;
    uint32_t count;
    int height, width, channels;
    bool planes; // [C][H][W]; else [H][W][C]
} pictures;

static status refuse(const char *path, const npz_array *a, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot import '%s': array '%s' %s", path, a->name, why);
}

// ---- Arrays and their layout ----

static bool has(const npz_array *pair) {
    return pair[0].bytes && pair[1].bytes;
}

static status choose_pairs(const char *path, const npz_array *arrays, int pairs[RAW_SPLITS],
                           int *count, error *err) {
    *count = 0;
    for (int k = 0; k < ONE_LIST; k++)
        if (has(arrays + 2 * k)) pairs[(*count)++] = k;
    const bool both = has(arrays + 2 * TRAIN_PAIR) && has(arrays + 2 * TEST_PAIR);
    if (*count + both != 1)
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': expected the arrays x and y, or images and labels, "
                         "or x_train, y_train, x_test and y_test",
                         path);
    if (!both) return STATUS_OK;
    pairs[RAW_TRAIN] = TRAIN_PAIR;
    pairs[RAW_TEST] = TEST_PAIR;
    *count = RAW_SPLITS;
    return STATUS_OK;
}

static bool are_channels(int64_t size) {
    return size == 1 || size == 3;
}

static status lay_out(const char *path, const npz_array *a, pictures *p, error *err) {
    const npy *n = &a->array;
    const int64_t *s = n->shape;
    if (strcmp(n->type, "|u1") != 0) return refuse(path, a, "does not hold unsigned bytes", err);
    if (n->rank != 3 && n->rank != 4)
        return refuse(path, a, "does not have the shape [N, H, W], [N, H, W, C] or [N, C, H, W]",
                      err);
    const bool last = n->rank == 4 && are_channels(s[3]);
    p->planes = n->rank == 4 && are_channels(s[1]);
    if (n->rank == 4 && last == p->planes)
        return refuse(path, a,
                      last ? "can be read as [N, H, W, C] and as [N, C, H, W]"
                           : "has neither 1 nor 3 channels",
                      err);
    const int64_t height = s[p->planes ? 2 : 1], width = s[p->planes ? 3 : 2];
    if (s[0] < 1 || s[0] > UINT32_MAX || height < 1 || width < 1 || height > IMAGE_MAX_SIDE ||
        width > IMAGE_MAX_SIDE || height * width > IMAGE_MAX_PIXELS)
        return refuse(path, a, "has no images, or images that are too large", err);
    p->pixels = n->data;
    p->count = (uint32_t)s[0];
    p->height = (int)height;
    p->width = (int)width;
    p->channels = n->rank == 3 ? 1 : (int)s[p->planes ? 1 : 3];
    return STATUS_OK;
}

// ---- Labels ----

static bool is_integer(const npy *n) {
    static const char *const types[] = {"|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(n->type, types[i]) == 0) return true;
    return false;
}

// Returns element i; a negative one becomes larger than any class.
static uint64_t label_at(const npy *n, size_t i) {
    const size_t width = (size_t)(n->type[2] - '0');
    const uint8_t *from = (const uint8_t *)n->data + i * width;
    uint64_t value = 0;
    for (size_t k = 0; k < width; k++) value |= (uint64_t)from[k] << 8 * k;
    const bool negative = n->type[1] == 'i' && from[width - 1] & 0x80;
    return negative ? UINT64_MAX : value;
}

static status check_labels(const char *path, const pictures *p, int *classes, error *err) {
    const npy *n = &p->labels->array;
    if (!is_integer(n)) return refuse(path, p->labels, "does not hold integers", err);
    if (n->rank < 1 || n->rank > 2 || (n->rank == 2 && n->shape[1] != 1) ||
        n->shape[0] != (int64_t)p->count)
        return refuse(path, p->labels, "does not have one label for each image", err);
    for (uint32_t i = 0; i < p->count; i++) {
        const uint64_t label = label_at(n, i);
        if (label >= LABELS_MAX_CLASSES)
            return error_set(
                err, STATUS_INPUT,
                "cannot import '%s': array '%s': element %u is not a label from 0 to %d", path,
                p->labels->name, i, LABELS_MAX_CLASSES - 1);
        if ((int)label >= *classes) *classes = (int)label + 1;
    }
    return STATUS_OK;
}

static status name_classes(import_result *r, int classes, error *err) {
    r->class_names = memory_new((size_t)classes, sizeof *r->class_names, err);
    if (!r->class_names) return STATUS_FAILED;
    r->data.classes = classes;
    r->data.class_names = (const char *const *)r->class_names;
    for (int k = 0; k < classes; k++) {
        r->class_names[k] = memory_format(err, "%d", k);
        if (!r->class_names[k]) return STATUS_FAILED;
    }
    return STATUS_OK;
}

// ---- Pictures ----

// Copies picture `at` with interleaved channels, the layout that resizing needs.
static status take_picture(const pictures *p, uint32_t at, int channels, image *i, error *err) {
    const size_t plane = (size_t)p->height * (size_t)p->width, count = (size_t)p->channels;
    const uint8_t *from = p->pixels + (size_t)at * plane * count;
    *i = (image){.orientation = 1};
    status rc = image_allocate(i, (uint32_t)p->width, (uint32_t)p->height, p->channels, err);
    if (rc != STATUS_OK) return rc;
    for (size_t k = 0; k < plane; k++)
        for (size_t c = 0; c < count; c++)
            i->pixels[k * count + c] = p->planes ? from[c * plane + k] : from[k * count + c];
    return image_convert(i, channels, err);
}

static void put_planes(const image *i, uint8_t *planes) {
    const size_t plane = (size_t)i->height * (size_t)i->width, count = (size_t)i->channels;
    for (size_t c = 0; c < count; c++)
        for (size_t k = 0; k < plane; k++) *planes++ = i->pixels[k * count + c];
}

static status take_samples(const pictures *p, const image_import *s, const raw_dataset *r,
                           uint8_t *images, uint32_t *labels, error *err) {
    const size_t bytes = (size_t)r->channels * (size_t)r->height * (size_t)r->width;
    status rc = STATUS_OK;
    for (uint32_t at = 0; rc == STATUS_OK && at < p->count; at++) {
        image i;
        uint8_t *to = images + at * bytes;
        rc = take_picture(p, at, r->channels, &i, err);
        if (rc == STATUS_OK && s->size) rc = image_square(&i, s->size, to, err);
        if (rc == STATUS_OK && !s->size) put_planes(&i, to);
        labels[at] = (uint32_t)label_at(&p->labels->array, at);
        image_release(&i);
    }
    return rc;
}

// Formats sample indices as text: keys of the split.
static status number_keys(uint32_t count, char **text, const char ***keys, error *err) {
    enum { DIGITS = 11 };
    *text = memory_new(count, DIGITS, err);
    *keys = memory_new(count, sizeof **keys, err);
    if (!*text || !*keys) return STATUS_FAILED;
    for (uint32_t i = 0; i < count; i++) {
        char *here = *text + (size_t)i * DIGITS;
        snprintf(here, DIGITS, "%" PRIu32, i);
        (*keys)[i] = here;
    }
    return STATUS_OK;
}

static status split_list(raw_dataset *r, const image_import *s, error *err) {
    raw_split all = r->splits[RAW_TRAIN];
    char *text = NULL;
    const char **keys = NULL;
    status rc = number_keys(all.samples, &text, &keys, err);
    if (rc == STATUS_OK) rc = import_split(r, all.images, all.labels, keys, all.samples, s, err);
    free(text);
    free(keys);
    return rc;
}

static status check_same(const char *path, const pictures *p, error *err) {
    if (p[0].height == p[1].height && p[0].width == p[1].width && p[0].channels == p[1].channels)
        return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': x_train and x_test have images of different shapes",
                     path);
}

static status take_all(const pictures *p, int lists, const image_import *s, import_result *r,
                       error *err) {
    raw_dataset *d = &r->data;
    status rc;
    d->name = s->name;
    d->channels = s->channels ? s->channels : p->channels;
    d->height = s->size ? s->size : p->height;
    d->width = s->size ? s->size : p->width;
    for (int k = 0; k < lists; k++) {
        d->splits[k].samples = p[k].count;
        TRY(import_check_size(d, p[k].count, err));
        TRY(raw_dataset_allocate(d, k, err));
        TRY(take_samples(&p[k], s, d, d->splits[k].images, d->splits[k].labels, err));
    }
    if (lists == 1) TRY(split_list(d, s, err));
    TRY(import_check_classes(d, err));
out:
    return rc;
}

status import_arrays(const char *path, const image_import *s, import_result *r, error *err) {
    npz_array arrays[ARRAYS] = {{0}};
    int pairs[RAW_SPLITS] = {0}, lists = 0, classes = 2;
    pictures p[RAW_SPLITS] = {{0}};
    status rc;
    *r = (import_result){0};
    for (int k = 0; k < ARRAYS; k++) arrays[k].name = array_names[k];
    TRY(npz_read(path, arrays, ARRAYS, err));
    TRY(choose_pairs(path, arrays, pairs, &lists, err));
    for (int k = 0; k < lists; k++) {
        TRY(lay_out(path, &arrays[2 * pairs[k]], &p[k], err));
        p[k].labels = &arrays[2 * pairs[k] + 1];
        TRY(check_labels(path, &p[k], &classes, err));
    }
    if (lists == RAW_SPLITS) TRY(check_same(path, p, err));
    TRY(name_classes(r, classes, err));
    TRY(take_all(p, lists, s, r, err));
out:
    npz_release(arrays, ARRAYS);
    return rc;
}
