// SPDX-License-Identifier: MIT
#include "data/images/image_import.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "data/images/image_resize.h"
#include "data/source/archive.h"

enum { CHUNK_BYTES = 1 << 16 };

// The reader's limit (tensor_file.h), less the header of 1,000 classes.
static const uint64_t MAX_BYTES = (UINT64_C(4) << 30) - (UINT64_C(1) << 20);

status import_check_size(const raw_dataset *r, uint64_t count, error *err) {
    const uint64_t each = raw_dataset_image_bytes(r) + 2 * sizeof(uint32_t);
    if (count <= MAX_BYTES / each) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import: %" PRIu64 " images of %d x %d x %d are more than 4 GiB: use a "
                     "smaller --size",
                     count, r->channels, r->height, r->width);
}

void import_release(import_result *r) {
    for (size_t i = 0; i < IMAGE_IMPORT_NAMED; i++) free((char *)r->named[i].why);
    for (int k = 0; r->class_names && k < r->data.classes; k++) free(r->class_names[k]);
    free(r->class_names);
    strvec_release(&r->unused);
    raw_dataset_release(&r->data);
    *r = (import_result){0};
}

// ---- Splits ----

typedef struct ticket {
    uint32_t label;
    char hash[SHA256_TEXT_BYTES];
    size_t sample;
} ticket;

static int by_class_and_hash(const void *a, const void *b) {
    const ticket *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return strcmp(x->hash, y->hash);
}

static void draw(ticket *t, const char *class_name, const char *key, uint64_t seed) {
    char *text = memory_format("%" PRIu64 "/%s/%s", seed, class_name, key);
    sha256_buffer(text, strlen(text), t->hash);
    free(text);
}

static size_t test_count(size_t count, double fraction) {
    const size_t wanted = (size_t)floor((double)count * fraction + 0.5);
    return wanted < 1 ? 1 : wanted > count - 1 ? count - 1 : wanted;
}

static status choose_of_class(const ticket *tickets, size_t count, const char *name,
                              double fraction, bool *test, error *err) {
    if (count < 2)
        return error_set(err, STATUS_INPUT,
                         "cannot split class '%s': it has %zu image, but needs one for training "
                         "and one for testing",
                         name, count);
    for (size_t i = 0; i < count; i++) test[tickets[i].sample] = i < test_count(count, fraction);
    return STATUS_OK;
}

status import_choose_test(const uint32_t *labels, const char *const *keys, size_t count,
                          const char *const *class_names, double fraction, uint64_t seed,
                          bool *test, error *err) {
    ticket *tickets = memory_new(count, sizeof *tickets);
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        tickets[i].label = labels[i];
        tickets[i].sample = i;
        draw(&tickets[i], class_names[labels[i]], keys[i], seed);
    }
    qsort(tickets, count, sizeof *tickets, by_class_and_hash);
    for (size_t first = 0, end; rc == STATUS_OK && first < count; first = end) {
        for (end = first; end < count && tickets[end].label == tickets[first].label;) end++;
        rc = choose_of_class(tickets + first, end - first, class_names[tickets[first].label],
                             fraction, test, err);
    }
    free(tickets);
    return rc;
}

static void move_sample(raw_split *to, uint32_t at, const uint8_t *images, const uint32_t *labels,
                        uint32_t from, size_t bytes) {
    memmove(to->images + (size_t)at * bytes, images + (size_t)from * bytes, bytes);
    to->labels[at] = labels[from];
}

// Training samples are compacted in place; test samples move to new memory.
static status part(raw_dataset *r, uint32_t count, const bool *test, error *err) {
    raw_split *train = &r->splits[RAW_TRAIN], *tests = &r->splits[RAW_TEST];
    const size_t bytes = raw_dataset_image_bytes(r);
    for (uint32_t i = 0; i < count; i++) tests->samples += test[i];
    NEED(raw_dataset_allocate(r, RAW_TEST, err));
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
    bool *test = memory_try_new(count, sizeof *test, err);
    status rc = STATUS_FAILED;
    if (!test) return rc;
    TRY(import_choose_test(labels, keys, count, r->class_names, s->test_fraction, s->seed, test,
                           err));
    TRY(part(r, count, test, err));
out:
    free(test);
    return rc;
}

status import_check_classes(const raw_dataset *r, error *err) {
    for (int i = 0; i < RAW_SPLITS; i++) {
        bool *seen = memory_new((size_t)r->classes, sizeof *seen);
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
    char **why;        // of each file: the reason, if it cannot be read
    bool *done;        // of each file
    uint32_t count;
} decoded;

typedef struct importing {
    const image_folder *folder;
    const logger *log;
    import_result *result;
    decoded lists[RAW_SPLITS];
} importing;

static void decoded_release(decoded *d, size_t files) {
    for (size_t i = 0; d->why && i < files; i++) free(d->why[i]);
    free(d->images);
    free(d->labels);
    free(d->keys);
    free(d->why);
    free(d->done);
}

static status decoded_init(decoded *d, const raw_dataset *r, size_t files, error *err) {
    d->images = memory_try_new(files, raw_dataset_image_bytes(r), err);
    d->labels = memory_try_new(files, sizeof *d->labels, err);
    d->keys = memory_try_new(files, sizeof *d->keys, err);
    d->why = memory_try_new(files, sizeof *d->why, err);
    d->done = memory_try_new(files, sizeof *d->done, err);
    return d->images && d->labels && d->keys && d->why && d->done ? STATUS_OK : STATUS_FAILED;
}

// Takes a picture, or the reason why there is none: `rc` and `why` are those of reading it.
static status take(importing *x, int list, size_t place, const image *i, status rc,
                   const error *why, error *err) {
    decoded *d = &x->lists[list];
    const raw_dataset *r = &x->result->data;
    d->done[place] = true;
    if (*i->fault && rc == STATUS_OK && !x->result->faulty++) {
        x->result->first_faulty = x->folder->lists[list].files[place].path;
        memcpy(x->result->fault, i->fault, sizeof i->fault);
    }
    if (rc == STATUS_OK)
        return image_square(i, r->width, d->images + place * raw_dataset_image_bytes(r), err);
    if (rc != STATUS_INPUT) return error_pass(why, err);
    d->why[place] = memory_string(why->message);
    return STATUS_OK;
}

static status read_files(importing *x, int list, error *err) {
    const image_list *l = &x->folder->lists[list];
    status rc = STATUS_OK;
    for (size_t k = 0; rc == STATUS_OK && k < l->count; k++) {
        image i = {0};
        error why = {0};
        char *path = memory_format("%s/%s", x->folder->path, l->files[k].path);
        rc = image_read_file(path, x->result->data.channels, &i, &why);
        rc = take(x, list, k, &i, rc, &why, err);
        image_release(&i);
        free(path);
    }
    return rc;
}

// Reads the current member. One that is larger than a picture may be has IMAGE_MAX_FILE + 1 bytes.
static status read_member(archive_reader *r, uint8_t **file, size_t *bytes, size_t *capacity,
                          error *err) {
    status rc = STATUS_OK;
    size_t got = 1;
    for (*bytes = 0; rc == STATUS_OK && got && *bytes <= IMAGE_MAX_FILE; *bytes += got) {
        rc = memory_try_grow((void **)file, capacity, *bytes + CHUNK_BYTES, 1, err);
        if (rc == STATUS_OK) rc = archive_reader_read(r, *file + *bytes, CHUNK_BYTES, &got, err);
        if (rc != STATUS_OK) got = 0;
    }
    return rc;
}

static status read_members(importing *x, archive_reader *r, error *err) {
    uint8_t *file = NULL;
    size_t bytes, capacity = 0;
    const char *member;
    status rc = STATUS_OK;
    for (;;) {
        TRY(archive_reader_next(r, &member, err));
        if (!member) break;
        const image_entry *e = image_tree_find(&x->folder->tree, member);
        if (!e || e->list < 0 || x->lists[e->list].done[e->place]) continue;
        image i = {0};
        error why = {0};
        TRY(read_member(r, &file, &bytes, &capacity, err));
        rc = image_read(file, bytes, x->result->data.channels, &i, &why);
        rc = take(x, e->list, e->place, &i, rc, &why, err);
        image_release(&i);
        if (rc != STATUS_OK) goto out;
    }
out:
    free(file);
    return rc;
}

static status read_archive(importing *x, error *err) {
    const char *path = x->folder->path;
    archive_reader *r = NULL;
    status rc = archive_reader_open_file(path, ARCHIVE_MEMBERS, &r, err);
    if (rc == STATUS_OK) rc = read_members(x, r, err);
    archive_reader_free(r);
    return rc;
}

static void note(import_result *r, const image_file *file, const char *why, const logger *log,
                 const char *folder) {
    log_warn(log, "left out '%s/%s': %s", folder, file->path, why);
    if (r->unreadable < IMAGE_IMPORT_NAMED) {
        r->named[r->unreadable].path = file->path;
        r->named[r->unreadable].why = memory_string(why);
    }
    r->unreadable++;
}

// Closes the gaps that unreadable files leave.
static status compact(importing *x, int list, error *err) {
    const image_list *l = &x->folder->lists[list];
    const size_t bytes = raw_dataset_image_bytes(&x->result->data);
    decoded *d = &x->lists[list];
    for (size_t k = 0; k < l->count; k++) {
        const image_file *file = &l->files[k];
        if (!d->done[k])
            return error_set(err, STATUS_INPUT, "cannot import '%s': it changed meanwhile: '%s'",
                             x->folder->path, file->path);
        if (d->why[k]) {
            note(x->result, file, d->why[k], x->log, x->folder->path);
            continue;
        }
        memmove(d->images + d->count * bytes, d->images + k * bytes, bytes);
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

// Makes a split of a list, or both of the only one.
static status hand_over(importing *x, int list, const image_import *s, error *err) {
    decoded *d = &x->lists[list];
    raw_dataset *r = &x->result->data;
    uint8_t *images = d->images;
    uint32_t *labels = d->labels;
    d->images = NULL;
    d->labels = NULL;
    if (!x->folder->is_split) return import_split(r, images, labels, d->keys, d->count, s, err);
    r->splits[list] = (raw_split){
        .samples = d->count, .images = images, .labels = labels, .owned = {images, labels}};
    return STATUS_OK;
}

status import_folder(const image_folder *f, const image_import *s, const logger *log,
                     import_result *r, error *err) {
    importing x = {.folder = f, .log = log, .result = r};
    const int lists = 1 + f->is_split;
    status rc = STATUS_OK;
    *r = (import_result){.split = f->is_split,
                         .data = {.name = s->name,
                                  .channels = s->channels ? s->channels : 3,
                                  .height = s->size,
                                  .width = s->size,
                                  .classes = f->class_count,
                                  .class_names = f->classes}};
    for (int k = 0; k < lists; k++) TRY(import_check_size(&r->data, f->lists[k].count, err));
    for (int k = 0; k < lists; k++)
        TRY(decoded_init(&x.lists[k], &r->data, f->lists[k].count, err));
    if (f->is_archive) TRY(read_archive(&x, err));
    for (int k = 0; k < lists; k++) {
        if (!f->is_archive) TRY(read_files(&x, k, err));
        TRY(compact(&x, k, err));
        TRY(check_left(&r->data, &x.lists[k], err));
    }
    for (int k = 0; k < lists; k++) TRY(hand_over(&x, k, s, err));
out:
    for (int k = 0; k < lists; k++) decoded_release(&x.lists[k], f->lists[k].count);
    return rc;
}
