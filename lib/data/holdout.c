// SPDX-License-Identifier: MIT
#include "data/holdout.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

typedef struct candidate {
    uint64_t rank;
    uint32_t id, sample;
} candidate;

static int by_rank(const void *x, const void *y) {
    const candidate *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_id(const void *x, const void *y) {
    const candidate *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

static uint64_t rank_of(uint64_t seed, uint32_t id) {
    const random_stream s = {seed, RANDOM_VALIDATION, 0, 0, id};
    return (uint64_t)random_bits(&s, 0) << 32 | random_bits(&s, 1);
}

// Makes h->samples of the first h->count candidates.
static status take_samples(holdout *h, const dataset *d, const candidate *chosen, error *err) {
    const size_t n = h->count;
    dataset *s = &h->samples;
    // One block: the pointers first, for their alignment.
    char *block = memory_try_new(n, sizeof *s->pixels + sizeof *s->labels + sizeof *s->ids, err);
    if (!block) return STATUS_FAILED;
    *s = *d;
    s->samples = h->count;
    s->paths = NULL;
    s->files = NULL;
    s->file_count = s->shards = 0;
    s->storage = block;
    s->pixels = (const uint8_t **)(void *)block;
    uint32_t *labels = (uint32_t *)(void *)(s->pixels + n), *ids = labels + n;
    for (size_t i = 0; i < n; i++) {
        s->pixels[i] = d->pixels[chosen[i].sample];
        labels[i] = d->labels[chosen[i].sample];
        ids[i] = d->ids[chosen[i].sample];
    }
    s->labels = labels;
    s->ids = ids;
    return STATUS_OK;
}

static status choose(holdout *h, const dataset *d, uint64_t seed, error *err) {
    candidate *all = memory_try_new(d->samples, sizeof *all, err);
    status rc = STATUS_FAILED;
    h->out = memory_try_new(d->samples, sizeof *h->out, err);
    if (!all || !h->out) goto out;
    for (uint32_t i = 0; i < d->samples; i++)
        all[i] = (candidate){rank_of(seed, d->ids[i]), d->ids[i], i};
    qsort(all, d->samples, sizeof *all, by_rank);
    qsort(all, h->count, sizeof *all, by_id);
    for (uint32_t i = 0; i < h->count; i++) h->out[all[i].sample] = true;
    rc = take_samples(h, d, all, err);
out:
    free(all);
    return rc;
}

status holdout_choose(holdout *h, const dataset *d, uint32_t count, uint64_t seed, error *err) {
    *h = (holdout){.count = count};
    if (count == 0) return STATUS_OK;
    if (count >= d->samples)
        return error_set(err, STATUS_INPUT,
                         "cannot validate: '%s': it has %u samples, and 'validation.samples' is %u",
                         d->paths[0], d->samples, count);
    return d->ids ? choose(h, d, seed, err) : STATUS_OK;
}

void holdout_release(holdout *h) {
    free(h->out);
    dataset_release(&h->samples);
    *h = (holdout){0};
}
