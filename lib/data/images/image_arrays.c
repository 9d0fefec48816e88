// SPDX-License-Identifier: MIT
// Imports pictures that are already arrays: x and y of a .npz file.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_file.h"
#include "base/memory.h"
#include "data/images/image_import.h"
#include "data/images/image_resize.h"
#include "data/images/npz.h"
#include "data/labels.h"
#include "data/source/archive.h"

typedef struct pictures {
    const uint8_t *pixels;
    const named_array *images, *labels;
    uint32_t count;
    int height, width, channels;
    bool planes; // [C][H][W]; else [H][W][C]
} pictures;

// The classes, by the labels in the arrays.
typedef struct label_set {
    bool seen[LABELS_MAX_CLASSES];
    uint32_t class_of[LABELS_MAX_CLASSES]; // of those seen
    int classes;
} label_set;

static status refuse(const char *path, const named_array *a, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot import '%s': array '%s' %s", path, a->name, why);
}

// Chooses the parts to read. Where there is no test part, the validation part is it.
static status choose_parts(const char *path, const array_list *l, array_part parts[RAW_SPLITS],
                           int *count, error *err) {
    const array_part test = array_list_has(l, ARRAYS_TEST) ? ARRAYS_TEST : ARRAYS_VALIDATION;
    const bool all = array_list_has(l, ARRAYS_ALL);
    if (all == (array_list_has(l, ARRAYS_TRAIN) && array_list_has(l, test))) {
        char *names = array_list_text(&l->names);
        error_set(err, STATUS_INPUT,
                  "cannot import '%s': expected the arrays x and y, or x_train, y_train, x_test "
                  "and y_test, or such names as images and labels, X_train, train_images; it has "
                  "%s",
                  path, names);
        free(names);
        return STATUS_INPUT;
    }
    *count = all ? 1 : RAW_SPLITS;
    parts[RAW_TRAIN] = all ? ARRAYS_ALL : ARRAYS_TRAIN;
    parts[RAW_TEST] = test;
    return STATUS_OK;
}

static bool are_channels(int64_t size) {
    return size == 1 || size == 3;
}

static bool is_square(int64_t count, int *side) {
    for (*side = 1; *side < IMAGE_MAX_SIDE && (int64_t)*side * *side < count;) ++*side;
    return (int64_t)*side * *side == count;
}

static status refuse_shape(const char *path, const named_array *a, error *err) {
    const npy *n = &a->array;
    char text[200];
    int side;
    if (n->rank == 2 && is_square(n->shape[1], &side))
        snprintf(text, sizeof text, "[N, %" PRId64 "]: pass %.60s.reshape(-1, %d, %d)", n->shape[1],
                 a->name, side, side);
    else if (n->rank == 2 && n->shape[1] % 3 == 0 && is_square(n->shape[1] / 3, &side))
        snprintf(text, sizeof text,
                 "[N, %" PRId64 "]: pass %.60s.reshape(-1, 3, %d, %d), or (-1, %d, %d, 3) if the "
                 "colours of a pixel are side by side",
                 n->shape[1], a->name, side, side, side, side);
    else if (n->rank == 4)
        snprintf(text, sizeof text,
                 "[N, %" PRId64 ", %" PRId64 ", %" PRId64 "]: neither 1 nor 3 channels%s",
                 n->shape[1], n->shape[2], n->shape[3],
                 n->shape[3] == 4   ? "; of RGBA, pass x[..., :3]"
                 : n->shape[1] == 4 ? "; of RGBA, pass x[:, :3]"
                                    : "");
    else
        snprintf(text, sizeof text, "of %d dimensions, not [N, H, W], [N, H, W, C] or [N, C, H, W]",
                 n->rank);
    return error_set(err, STATUS_INPUT, "cannot import '%s': array '%s' has the shape %s", path,
                     a->name, text);
}

static void find_range(const npy *n, double *least, double *most) {
    const size_t count = npy_count(n);
    *least = *most = count ? npy_value(n, 0) : 0;
    for (size_t i = 0; i < count && !isnan(*least); i++) {
        const double value = npy_value(n, i);
        if (value < *least || isnan(value)) *least = value;
        if (value > *most || isnan(value)) *most = value;
    }
}

// Pixels are not guessed from other numbers: the message says what they are, and how to convert.
static status refuse_elements(const char *path, const named_array *a, error *err) {
    double least, most;
    char way[160];
    find_range(&a->array, &least, &most);
    if (least >= 0 && most <= 1)
        snprintf(way, sizeof way, "pass (%.60s * 255).round().astype('uint8')", a->name);
    else if (least >= 0 && most <= UINT8_MAX)
        snprintf(way, sizeof way, "pass %.60s.round().astype('uint8')", a->name);
    else
        snprintf(way, sizeof way, "pass pixels from 0 to 255, as they were before normalisation");
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': array '%s' does not hold unsigned bytes but %s (%s) from "
                     "%.6g to %.6g: %s",
                     path, a->name, npy_elements(&a->array), a->array.type, least, most, way);
}

static status lay_out(const char *path, const named_array *a, pictures *p, error *err) {
    const npy *n = &a->array;
    const int64_t *s = n->shape;
    const bool last = n->rank == 4 && are_channels(s[3]);
    p->planes = n->rank == 4 && are_channels(s[1]);
    if (n->rank != 3 && !last && !p->planes) return refuse_shape(path, a, err);
    if (last && p->planes)
        return refuse(path, a, "can be read as [N, H, W, C] and as [N, C, H, W]", err);
    if (strcmp(n->type, "|u1") != 0) return refuse_elements(path, a, err);
    const int64_t height = s[p->planes ? 2 : 1], width = s[p->planes ? 3 : 2];
    if (s[0] < 1 || s[0] > UINT32_MAX || height < 1 || width < 1 || height > IMAGE_MAX_SIDE ||
        width > IMAGE_MAX_SIDE || height * width > IMAGE_MAX_PIXELS)
        return refuse(path, a, "has no images, or images that are too large", err);
    p->images = a;
    p->pixels = n->data;
    p->count = (uint32_t)s[0];
    p->height = (int)height;
    p->width = (int)width;
    p->channels = n->rank == 3 ? 1 : (int)s[p->planes ? 1 : 3];
    return STATUS_OK;
}

// ---- Labels ----

// Has each row one 1, and else 0?
static bool is_one_hot(const npy *n) {
    const size_t columns = (size_t)n->shape[1], count = npy_count(n);
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = npy_value(n, i);
        ones = i % columns ? ones + (value == 1) : value == 1;
        if ((value != 0 && value != 1) || ones > 1) return false;
        if (i % columns == columns - 1 && ones == 0) return false;
    }
    return true;
}

static status refuse_label_shape(const char *path, const pictures *p, error *err) {
    const named_array *a = p->labels;
    const npy *n = &a->array;
    if (n->rank != 2 || n->shape[1] < 2 || n->shape[0] != (int64_t)p->count)
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': array '%s' does not have one label for each image: "
                         "it has %d dimension%s and begins with %" PRId64 ", '%s' has %" PRIu32
                         " images",
                         path, a->name, n->rank, n->rank == 1 ? "" : "s", n->rank ? n->shape[0] : 0,
                         p->images->name, p->count);
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': array '%s' has the shape [N, %" PRId64 "]: %s%s%s", path,
                     a->name, n->shape[1],
                     is_one_hot(n) ? "one-hot labels: pass " : "each image must have one label",
                     is_one_hot(n) ? a->name : "", is_one_hot(n) ? ".argmax(1)" : "");
}

// Marks in seen[] the labels that occur.
static status check_labels(const char *path, const pictures *p, bool seen[LABELS_MAX_CLASSES],
                           error *err) {
    const named_array *a = p->labels;
    const npy *n = &a->array;
    if (n->rank < 1 || n->rank > 2 || (n->rank == 2 && n->shape[1] != 1) ||
        n->shape[0] != (int64_t)p->count)
        return refuse_label_shape(path, p, err);
    if (n->type[1] == 'f')
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': array '%s' does not hold integers but floats (%s): "
                         "pass %s.astype(int)",
                         path, a->name, n->type, a->name);
    for (uint32_t i = 0; i < p->count; i++) {
        const double label = npy_value(n, i);
        if (!(label >= 0 && label < LABELS_MAX_CLASSES))
            return error_set(err, STATUS_INPUT,
                             "cannot import '%s': array '%s': element %u is %.0f, not a label from "
                             "0 to %d%s%s%s",
                             path, a->name, i, label, LABELS_MAX_CLASSES - 1,
                             label > 0 ? ": pass numpy.unique(" : "", label > 0 ? a->name : "",
                             label > 0 ? ", return_inverse=True)[1]" : "");
        seen[(int)label] = true;
    }
    return STATUS_OK;
}

// Refuses labels that begin after 0, or have a gap: an array is not renumbered, the message says
// how to. The numbers in IDX files are kept as the classes' names.
static status check_numbering(const char *path, const pictures *p, const bool *seen, error *err) {
    const char *name = p->labels->name;
    int least = 0, most = LABELS_MAX_CLASSES - 1, gap, end;
    char missing[32], also[100] = "";
    while (!seen[least]) least++;
    while (!seen[most]) most--;
    for (gap = least; gap < most && seen[gap];) gap++;
    for (end = gap; end < most && !seen[end + 1];) end++;
    snprintf(missing, sizeof missing, "%d", gap);
    if (end > gap) snprintf(missing, sizeof missing, "%d to %d", gap, end);
    if (p[1].labels) snprintf(also, sizeof also, ", and so for %s", p[1].labels->name);
    if (gap < most)
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': array '%s' holds labels from %d to %d, but not %s: "
                         "pass numpy.unique(%s, return_inverse=True)[1]%s",
                         path, name, least, most, missing, name, also);
    if (least == 0) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': array '%s' holds labels from %d to %d: pass %s - %d%s",
                     path, name, least, most, name, least, also);
}

static status number_classes(const char *path, const pictures *p, label_set *set, error *err) {
    int last = 0;
    for (int k = 0; k < LABELS_MAX_CLASSES; k++) {
        if (!set->seen[k]) continue;
        last = k;
        set->class_of[k] = (uint32_t)set->classes++;
    }
    if (set->classes > 1) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': array '%s' holds no label but %d, expected 2 to %d "
                     "classes",
                     path, p->labels->name, last, LABELS_MAX_CLASSES);
}

static void name_classes(import_result *r, const label_set *set) {
    r->class_names = memory_new((size_t)set->classes, sizeof *r->class_names);
    r->data.classes = set->classes;
    r->data.class_names = (const char *const *)r->class_names;
    for (int k = 0; k < LABELS_MAX_CLASSES; k++)
        if (set->seen[k]) r->class_names[set->class_of[k]] = memory_format("%d", k);
}

// ---- Pictures ----

// Copies picture `at` with interleaved channels, the layout that resizing needs.
static status take_picture(const pictures *p, uint32_t at, int channels, image *i, error *err) {
    const size_t plane = (size_t)p->height * (size_t)p->width, count = (size_t)p->channels;
    const uint8_t *from = p->pixels + (size_t)at * plane * count;
    *i = (image){.orientation = 1};
    NEED(image_allocate(i, (uint32_t)p->width, (uint32_t)p->height, p->channels, err));
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

static status take_samples(const pictures *p, const label_set *set, const image_import *s,
                           const raw_dataset *r, uint8_t *images, uint32_t *labels, error *err) {
    const size_t bytes = (size_t)r->channels * (size_t)r->height * (size_t)r->width;
    status rc = STATUS_OK;
    for (uint32_t at = 0; rc == STATUS_OK && at < p->count; at++) {
        image i;
        uint8_t *to = images + at * bytes;
        rc = take_picture(p, at, r->channels, &i, err);
        if (rc == STATUS_OK && s->size) rc = image_square(&i, s->size, to, err);
        if (rc == STATUS_OK && !s->size) put_planes(&i, to);
        labels[at] = set->class_of[(size_t)npy_value(&p->labels->array, at)];
        image_release(&i);
    }
    return rc;
}

// Formats sample indices as text: keys of the split.
static status number_keys(uint32_t count, char **text, const char ***keys, error *err) {
    enum { DIGITS = 11 };
    *text = memory_try_new(count, DIGITS, err);
    *keys = memory_try_new(count, sizeof **keys, err);
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
                     "cannot import '%s': %s and %s have images of different shapes", path,
                     p[0].images->name, p[1].images->name);
}

static status take_all(const pictures *p, int lists, const label_set *set, const image_import *s,
                       import_result *r, error *err) {
    raw_dataset *d = &r->data;
    d->name = s->name;
    d->channels = s->channels ? s->channels : p->channels;
    d->height = s->size ? s->size : p->height;
    d->width = s->size ? s->size : p->width;
    for (int k = 0; k < lists; k++) {
        d->splits[k].samples = p[k].count;
        NEED(import_check_size(d, p[k].count, err));
        NEED(raw_dataset_allocate(d, k, err));
        NEED(take_samples(&p[k], set, s, d, d->splits[k].images, d->splits[k].labels, err));
    }
    if (lists == 1) NEED(split_list(d, s, err));
    return import_check_classes(d, err);
}

// A third part is neither trained on nor tested with.
static void note_validation(const array_list *l, int64_t *images, strvec *unused,
                            const logger *log) {
    const named_array *left = &l->images[ARRAYS_VALIDATION];
    size_t kept = 0;
    *images = left->array.rank ? left->array.shape[0] : 0;
    log_warn(log, "array '%s' is left out: %" PRId64 " images, neither trained on nor tested with",
             left->name, *images);
    for (size_t i = 0; i < unused->count; i++) {
        char *name = unused->items[i];
        const named_array *labels = &l->labels[ARRAYS_VALIDATION];
        if (strcmp(name, left->name) == 0 || (labels->name && strcmp(name, labels->name) == 0))
            free(name);
        else
            unused->items[kept++] = name;
    }
    unused->count = kept;
}

static void note_others(const strvec *names, const char *what, const logger *log) {
    char *list = array_list_text(names);
    if (names->count) log_warn(log, "%s are left out: %s", what, list);
    free(list);
}

// Names what is not used.
static void note_left_out(const array_list *l, const array_part parts[RAW_SPLITS], int count,
                          import_result *r, const logger *log) {
    array_list_unused(l, parts, count, &r->unused);
    const char *third = l->images[ARRAYS_VALIDATION].name;
    if (third && strvec_has(&r->unused, third)) note_validation(l, &r->left_out, &r->unused, log);
    note_others(&r->unused, "arrays in no pair of images and labels", log);
    note_others(&l->others, "files that are no arrays", log);
    strvec_add_all(&r->unused, &l->others);
}

// Names a file without arrays. `others` are those in it, if it is an archive, which `read` did not
// read to its end if it is a failure.
static status refuse_file(const char *path, const strvec *others, status read, error *err) {
    for (size_t i = 0; read == STATUS_OK && i < others->count; i++)
        if (archive_ending(others->items[i], strlen(others->items[i])))
            return error_set(err, STATUS_INPUT,
                             "cannot import '%s': it holds archives, '%.200s' and the like: unpack "
                             "all of them, and pass the folder",
                             path, others->items[i]);
    if (read != STATUS_OK && others->count) return read;
    return foreign_file("cannot import", path, WANTED_ARRAYS, err);
}

status import_arrays(const char *path, const idx_files *idx, const image_import *s,
                     const logger *log, import_result *r, error *err) {
    array_list l;
    array_part parts[RAW_SPLITS] = {ARRAYS_ALL};
    label_set set = {0};
    pictures p[RAW_SPLITS] = {{0}};
    int lists = 0;
    *r = (import_result){0};
    const status read = idx ? idx_files_read(idx, &l, err) : npz_read(path, &l, err);
    status rc = read;
    TRY(rc);
    TRY(choose_parts(path, &l, parts, &lists, err));
    r->split = lists == RAW_SPLITS;
    for (int k = 0; k < lists; k++) {
        TRY(lay_out(path, &l.images[parts[k]], &p[k], err));
        p[k].labels = &l.labels[parts[k]];
        TRY(check_labels(path, &p[k], set.seen, err));
    }
    TRY(number_classes(path, p, &set, err));
    if (!idx) TRY(check_numbering(path, p, set.seen, err));
    if (lists == RAW_SPLITS) TRY(check_same(path, p, err));
    name_classes(r, &set);
    TRY(take_all(p, lists, &set, s, r, err));
    note_left_out(&l, parts, lists, r, log);
out:
    if (rc == STATUS_INPUT && !l.names.count) rc = refuse_file(path, &l.others, read, err);
    array_list_release(&l);
    return rc;
}
