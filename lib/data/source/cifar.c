// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "data/source/dataset_readers.h"
#include "data/source/pickle.h"

enum { PIXEL_BYTES = 3 * 32 * 32, LABELS_MAX = 2 };

// ---- The "python version": pickled dictionaries, as torchvision stores them ----

static status refuse(const dataset_member *m, const char *key, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot use member '%s': its '%s' %s", m->alias, key, why);
}

// Checks for a list of integers, or an array, of `count` labels.
static status check_labels(const dataset_member *m, const pickle_value *v, const char *key,
                           size_t count, error *err) {
    if (!v) return refuse(m, key, "is missing", err);
    const bool array = v->kind == PICKLE_ARRAY && v->rank == 1;
    if (!array && v->kind != PICKLE_LIST) return refuse(m, key, "is not a list", err);
    if ((array ? v->length : v->count) != count)
        return refuse(m, key, "does not have a label for each image", err);
    for (size_t i = 0; !array && i < count; i++)
        if (v->items[i]->kind != PICKLE_INTEGER || v->items[i]->integer < 0 ||
            v->items[i]->integer > 255)
            return refuse(m, key, "holds values other than labels", err);
    return STATUS_OK;
}

static uint8_t label_at(const pickle_value *v, size_t i) {
    return v->kind == PICKLE_ARRAY ? v->bytes[i] : (uint8_t)v->items[i]->integer;
}

static status hand_on(const dataset_member *m, const pickle_value *root, member_part *part,
                      void *context, error *err) {
    static const char *const keys[][LABELS_MAX] = {{"labels"}, {"coarse_labels", "fine_labels"}};
    const pickle_value *data = pickle_find(root, "data"), *labels[LABELS_MAX];
    if (!data || data->kind != PICKLE_ARRAY || data->rank != 2 || data->shape[1] != PIXEL_BYTES ||
        data->shape[0] < 1)
        return refuse(m, "data", "is not an array of 3072-byte rows", err);
    const size_t count = (size_t)data->shape[0], record = (size_t)(m->bytes / count);
    const size_t label_bytes = record - PIXEL_BYTES;
    if (m->bytes % count || label_bytes < 1 || label_bytes > LABELS_MAX)
        return refuse(m, "data", "does not have the expected number of images", err);
    uint8_t buffer[LABELS_MAX + PIXEL_BYTES];
    for (size_t k = 0; k < label_bytes; k++) {
        const char *key = keys[label_bytes - 1][k];
        labels[k] = pickle_find(root, key);
        NEED(check_labels(m, labels[k], key, count, err));
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < label_bytes; k++) buffer[k] = label_at(labels[k], i);
        memcpy(buffer + label_bytes, data->bytes + i * PIXEL_BYTES, PIXEL_BYTES);
        NEED(part(context, buffer, record, err));
    }
    return STATUS_OK;
}

// A member_conversion: passes on the records of the binary version, one after another. The size of
// `m` decides how many label bytes they have: one, `labels`, or two, `coarse_labels` and
// `fine_labels`.
static status convert_python(const dataset_member *m, const uint8_t *file, size_t bytes,
                             member_part *part, void *context, error *err) {
    pickle p;
    status rc = pickle_parse(file, bytes, m->alias, &p, err);
    if (rc == STATUS_OK) rc = hand_on(m, p.root, part, context, err);
    pickle_release(&p);
    return rc;
}

// ---- Both versions ----

typedef struct taking {
    const dataset_entry *set;
    raw_dataset *dataset;
    size_t record, labels;     // bytes of a record, and of the labels at its beginning
    size_t first[MEMBERS_MAX]; // record of each member, of all records
} taking;

// The members are records without gaps, but for the optional ones, which are other files.
static void find_records(taking *t) {
    const dataset_entry *d = t->set;
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->member_count; i++)
        if (!d->members[i].optional) bytes += d->members[i].bytes;
    t->record = (size_t)(bytes / (d->samples[RAW_TRAIN] + d->samples[RAW_TEST]));
    t->labels = t->record - PIXEL_BYTES;
    for (size_t i = 0, records = 0; i < d->member_count; i++) {
        t->first[i] = records;
        if (!d->members[i].optional) records += (size_t)(d->members[i].bytes / t->record);
    }
}

// A member_sink. Chunks do not end at record boundaries, so each byte's place follows from its
// offset.
static status take(void *context, size_t which, uint64_t offset, const uint8_t *data, size_t bytes,
                   error *err) {
    (void)err;
    const taking *t = context;
    if (t->set->members[which].optional) return STATUS_OK;
    for (size_t at = 0, run; at < bytes; at += run) {
        size_t sample = t->first[which] + (size_t)((offset + at) / t->record);
        const size_t inside = (size_t)((offset + at) % t->record);
        const int split = sample < t->set->samples[RAW_TRAIN] ? RAW_TRAIN : RAW_TEST;
        const raw_split *s = &t->dataset->splits[split];
        if (split == RAW_TEST) sample -= t->set->samples[RAW_TRAIN];
        run = 1;
        if (inside >= t->labels) {
            run = t->record - inside < bytes - at ? t->record - inside : bytes - at;
            memcpy(s->images + sample * PIXEL_BYTES + (inside - t->labels), data + at, run);
        } else if (inside + 1 == t->labels) {
            s->labels[sample] = data[at];
        }
    }
    return STATUS_OK;
}

status cifar_read(const dataset_entry *d, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) {
    taking t = {.set = d, .dataset = r};
    const member_use use = {take, &t, convert_python};
    find_records(&t);
    for (int i = 0; i < RAW_SPLITS; i++) {
        r->splits[i].samples = d->samples[i];
        NEED(raw_dataset_allocate(r, i, err));
    }
    return members_read(d, sources, source_count, log, &use, origin, err);
}
