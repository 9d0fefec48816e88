// SPDX-License-Identifier: MIT
#include "data/images/image_import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/images/image_resize.h"
#include "data/images/split.h"

// The reader's limit (tensor_file.h), less the header of 1,000 classes.
static const uint64_t MAX_BYTES = (UINT64_C(4) << 30) - (UINT64_C(1) << 20);

static size_t sample_bytes(const raw_dataset *r) {
    return (size_t)r->channels * (size_t)r->height * (size_t)r->width;
}

status import_check_size(const raw_dataset *r, uint64_t count, error *err) {
    const uint64_t each = sample_bytes(r) + 2 * sizeof(uint32_t);
    if (count <= MAX_BYTES / each) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import: %" PRIu64 " images of %d x %d x %d are more than 4 GiB: use a "
                     "smaller --size",
                     count, r->channels, r->height, r->width);
}

void import_release(import_result *r) {
    for (size_t i = 0; i < IMAGE_IMPORT_NAMED; i++) free(r->named[i].why);
    for (int k = 0; r->class_names && k < r->data.classes; k++) free(r->class_names[k]);
    free(r->class_names);
    raw_dataset_release(&r->data);
    *r = (import_result){0};
}

// ---- Splits ----

static void move_sample(raw_split *to, uint32_t at, const uint8_t *images, const uint32_t *labels,
                        uint32_t from, size_t bytes) {
    memmove(to->images + (size_t)at * bytes, images + (size_t)from * bytes, bytes);
    to->labels[at] = labels[from];
}

// Training samples are compacted in place; test samples move to new memory.
static status part(raw_dataset *r, uint32_t count, const bool *test, error *err) {
    raw_split *train = &r->splits[RAW_TRAIN], *tests = &r->splits[RAW_TEST];
    const size_t bytes = sample_bytes(r);
    for (uint32_t i = 0; i < count; i++) tests->samples += test[i];
    status rc = raw_dataset_allocate(r, RAW_TEST, err);
    if (rc != STATUS_OK) return rc;
    uint32_t kept = 0, taken = 0;
    for (uint32_t i = 0; i < count; i++)
        if (test[i])
            move_sample(tests, taken++, train->images, train->labels, i, bytes);
        else
            move_sample(train, kept++, train->images, train->labels, i, bytes);
    train->samples = kept;
    return STATUS_OK;
}

status import_split(raw_dataset *r, uint8_t *images, uint32_t *labels, const char *const *keys,
                    uint32_t count, const image_import *s, error *err) {
    r->splits[RAW_TRAIN] = (raw_split){
        .samples = count, .images = images, .labels = labels, .owned = {images, labels}};
    bool *test = memory_new(count, sizeof *test, err);
    status rc = STATUS_FAILED;
    if (!test) return rc;
    TRY(split_choose(labels, keys, count, r->class_names, s->test_fraction, s->seed, test, err));
    TRY(part(r, count, test, err));
out:
    free(test);
    return rc;
}

status import_check_classes(const raw_dataset *r, error *err) {
    for (int i = 0; i < RAW_SPLITS; i++) {
        bool *seen = memory_new((size_t)r->classes, sizeof *seen, err);
        if (!seen) return STATUS_FAILED;
        for (uint32_t k = 0; k < r->splits[i].samples; k++) seen[r->splits[i].labels[k]] = true;
        int first = 0;
        while (first < r->classes && seen[first]) first++;
        free(seen);
        if (first < r->classes)
            return error_set(err, STATUS_INPUT,
                             "cannot import: class '%s' has no image left to %s with",
                             r->class_names[first], i == RAW_TRAIN ? "train" : "test");
    }
    return STATUS_OK;
}

// ---- Files ----

typedef struct decoded { // one list
    uint8_t *images;
    uint32_t *labels;
    const char **keys; // of the split
    uint32_t count;
} decoded;

static void note(import_result *r, const image_file *file, const error *why, const logger *log,
                 const char *folder) {
    log_warn(log, "left out '%s/%s': %s", folder, file->path, why->message);
    if (r->unreadable < IMAGE_IMPORT_NAMED) {
        r->named[r->unreadable].path = file->path;
        r->named[r->unreadable].why = memory_string(why->message, NULL);
    }
    r->unreadable++;
}

static status read_square(const image_folder *f, const image_file *file, const raw_dataset *r,
                          uint8_t *planes, error *err) {
    image i = {0};
    char *path = memory_format(err, "%s/%s", f->path, file->path);
    status rc = STATUS_FAILED;
    if (!path) goto out;
    TRY(image_read_file(path, r->channels, &i, err));
    TRY(image_square(&i, r->width, planes, err));
out:
    image_release(&i);
    free(path);
    return rc;
}

static status decode_list(const image_folder *f, const image_list *l, const logger *log,
                          import_result *r, decoded *d, error *err) {
    const size_t bytes = sample_bytes(&r->data);
    d->images = memory_new(l->count, bytes, err);
    d->labels = memory_new(l->count, sizeof *d->labels, err);
    d->keys = memory_new(l->count, sizeof *d->keys, err);
    if (!d->images || !d->labels || !d->keys) return STATUS_FAILED;
    for (size_t i = 0; i < l->count; i++) {
        const image_file *file = &l->files[i];
        error why = {0};
        const status rc = read_square(f, file, &r->data, d->images + d->count * bytes, &why);
        if (rc == STATUS_INPUT) {
            note(r, file, &why, log, f->path);
            continue;
        }
        if (rc != STATUS_OK) return error_set(err, rc, "%s", why.message);
        d->labels[d->count] = (uint32_t)file->class;
        d->keys[d->count++] = file->name;
    }
    return STATUS_OK;
}

// Without its unreadable files, a list must still have every class.
static status check_left(const raw_dataset *r, const decoded *d, error *err) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < d->count; i++)
        if (d->labels[i] == next) next++;
    if (next == (uint32_t)r->classes) return STATUS_OK;
    return error_set(err, STATUS_INPUT, "cannot import: class '%s' has no readable image",
                     r->class_names[next]);
}

static status import_list(const image_folder *f, int list, const image_import *s, const logger *log,
                          import_result *r, error *err) {
    decoded d = {0};
    status rc;
    TRY(decode_list(f, &f->lists[list], log, r, &d, err));
    TRY(check_left(&r->data, &d, err));
    if (f->is_split) {
        r->data.splits[list] = (raw_split){.samples = d.count,
                                           .images = d.images,
                                           .labels = d.labels,
                                           .owned = {d.images, d.labels}};
        d.images = NULL;
        d.labels = NULL;
        goto out;
    }
    uint8_t *images = d.images;
    uint32_t *labels = d.labels;
    d.images = NULL;
    d.labels = NULL;
    rc = import_split(&r->data, images, labels, d.keys, d.count, s, err);
out:
    free(d.images);
    free(d.labels);
    free(d.keys);
    return rc;
}

status import_folder(const image_folder *f, const image_import *s, const logger *log,
                     import_result *r, error *err) {
    *r = (import_result){.data = {.name = s->name,
                                  .channels = s->channels ? s->channels : 3,
                                  .height = s->size,
                                  .width = s->size,
                                  .classes = f->class_count,
                                  .class_names = (const char *const *)f->classes}};
    status rc = STATUS_OK;
    for (int k = 0; k < 1 + f->is_split; k++)
        TRY(import_check_size(&r->data, f->lists[k].count, err));
    for (int k = 0; k < 1 + f->is_split; k++) TRY(import_list(f, k, s, log, r, err));
out:
    return rc;
}
