// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/memory.h"
#include "data/source/dataset_readers.h"
#include "data/source/idx.h"

enum { MEMBERS = 4 };

// A member_sink: keeps each file whole. context: uint8_t *[MEMBERS].
static status take(void *context, size_t which, uint64_t offset, const uint8_t *data, size_t bytes,
                   error *err) {
    (void)err;
    uint8_t *const *files = context;
    memcpy(files[which] + offset, data, bytes);
    return STATUS_OK;
}

// An IDX file of unsigned bytes of this rank.
static status parse(uint8_t *file, const dataset_member *m, int rank, npy *x, error *err) {
    NEED(idx_parse(file, m->bytes, m->name, x, err));
    if (strcmp(x->type, "|u1") == 0 && x->rank == rank) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use '%s': elements of type %s in %d dimensions, expected |u1 in %d",
                     m->name, x->type, x->rank, rank);
}

// The images and labels of a split stay in their files' buffers, after the headers.
static status parse_split(const dataset_entry *d, int split, raw_split *s, error *err) {
    const dataset_member *files = &d->members[2 * split];
    npy images, labels;
    NEED(parse(s->owned[0], &files[0], 3, &images, err));
    NEED(parse(s->owned[1], &files[1], 1, &labels, err));
    const uint32_t count = d->samples[split];
    if (images.shape[0] != count || images.shape[1] != d->height || images.shape[2] != d->width ||
        labels.shape[0] != count)
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': %lld images of %lld x %lld and %lld labels, expected %u "
                         "of %d x %d, and as many labels",
                         files[0].name, (long long)images.shape[0], (long long)images.shape[1],
                         (long long)images.shape[2], (long long)labels.shape[0], count, d->height,
                         d->width);
    s->samples = count;
    s->images = (uint8_t *)s->owned[0] + (files[0].bytes - images.data_bytes);
    s->labels = memory_try_new(count, sizeof *s->labels, err);
    s->owned[2] = s->labels;
    if (!s->labels) return STATUS_FAILED;
    for (uint32_t i = 0; i < count; i++) s->labels[i] = ((const uint8_t *)labels.data)[i];
    return STATUS_OK;
}

status mnist_read(const dataset_entry *d, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) {
    uint8_t *files[MEMBERS];
    const member_use use = {take, files, NULL};
    status rc = STATUS_FAILED;
    for (int i = 0; i < MEMBERS; i++) {
        files[i] = memory_try_new(d->members[i].bytes, 1, err);
        r->splits[i / 2].owned[i % 2] = files[i];
        if (!files[i]) goto out;
    }
    TRY(members_read(d, sources, source_count, log, &use, origin, err));
    for (int i = 0; i < RAW_SPLITS; i++) TRY(parse_split(d, i, &r->splits[i], err));
out:
    return rc;
}
