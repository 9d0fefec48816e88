// SPDX-License-Identifier: MIT
#include "data/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

status sampler_init(sampler *s, const partition *p, int global_batch, uint64_t seed, error *err) {
    memset(s, 0, sizeof *s);
    if (global_batch < 1 || global_batch % p->shards)
        return error_set(err, STATUS_USAGE,
                         "cannot cut the global batch: '%d': %d virtual shards do not divide it",
                         global_batch, p->shards);
    s->partition = p;
    s->seed = seed;
    s->per_step = (uint32_t)(global_batch / p->shards);
    for (int e = 0; e < SAMPLER_EPOCHS; e++) s->held[e] = -1;
    s->starts = memory_new((size_t)p->shards, sizeof *s->starts);
    for (int v = 0; v < p->shards; v++) {
        s->starts[v] = s->total;
        s->total += p->size[v];
    }
    s->steps = ((uint64_t)p->size[0] + s->per_step - 1) / s->per_step; // shard 0 is the longest
    s->orders = memory_try_new(s->total * SAMPLER_EPOCHS, sizeof *s->orders, err);
    if (!s->orders) {
        sampler_release(s);
        return STATUS_FAILED;
    }
    return STATUS_OK;
}

void sampler_release(sampler *s) {
    free(s->orders);
    free(s->starts);
    memset(s, 0, sizeof *s);
}

status sampler_drop_last(sampler *s, error *err) {
    const uint64_t steps =
        s->partition->size[s->partition->shards - 1] / s->per_step; // the shortest shard
    if (steps == 0)
        return error_set(err, STATUS_INPUT,
                         "cannot train with 'drop_last': '%zu' samples do not fill a global batch "
                         "of %zu",
                         s->total, (size_t)s->per_step * (size_t)s->partition->shards);
    s->steps = steps;
    return STATUS_OK;
}

uint64_t sampler_steps_per_epoch(const sampler *s) {
    return s->steps;
}

static uint32_t *order_of(const sampler *s, uint32_t epoch, int shard) {
    return s->orders + epoch % SAMPLER_EPOCHS * s->total + s->starts[shard];
}

void sampler_begin_epoch(sampler *s, uint32_t epoch) {
    if (s->held[epoch % SAMPLER_EPOCHS] == (int64_t)epoch) return;
    for (int v = 0; v < s->partition->shards; v++) {
        const random_stream stream = {s->seed, RANDOM_ORDER, (uint32_t)v, epoch, 0};
        uint32_t *order = order_of(s, epoch, v), size = s->partition->size[v];
        random_permutation(&stream, order, size);
        for (uint32_t i = 0; i < size; i++) order[i] = s->partition->sample[v][order[i]];
    }
    s->held[epoch % SAMPLER_EPOCHS] = epoch;
}

int sampler_step(const sampler *s, uint32_t epoch, uint64_t step, int shard,
                 const uint32_t **samples) {
    uint32_t size = s->partition->size[shard];
    uint64_t first = step * s->per_step;
    *samples = order_of(s, epoch, shard);
    if (first >= size) return 0;
    *samples += first;
    uint64_t left = size - first;
    return (int)(left < s->per_step ? left : s->per_step);
}
