// SPDX-License-Identifier: MIT
#include <string.h>

#include "data/source/cifar_python.h"
#include "data/source/readers.h"

enum { PIXEL_BYTES = CIFAR_PIXEL_BYTES };

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
    const member_use use = {take, &t, cifar_python_convert};
    find_records(&t);
    for (int i = 0; i < RAW_SPLITS; i++) {
        r->splits[i].samples = d->samples[i];
        status rc = raw_dataset_allocate(r, i, err);
        if (rc != STATUS_OK) return rc;
    }
    return members_read(d, sources, source_count, log, &use, origin, err);
}
