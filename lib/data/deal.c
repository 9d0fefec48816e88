// SPDX-License-Identifier: MIT
// The deal: assigns each sample that is not left out to a virtual shard.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"
#include "data/holdout.h"

// Sets order[p] to the sample at position p of the permutation by `shard_seed`. The files hold it:
// shard v, in its own order, has the positions v, v + V, v + 2V, …
static status order_of_files(const dataset *data, int shards, uint64_t shard_seed, uint32_t *order,
                             error *err) {
    if (shards != data->shards || shard_seed != data->shard_seed)
        return error_set(
            err, STATUS_INPUT,
            "cannot deal dataset: '%s': its files hold %d shards dealt with seed %" PRIu64
            ", but %d with seed %" PRIu64
            " were requested: run 'shard' again, or pass the unsharded file",
            data->paths[0], data->shards, data->shard_seed, shards, shard_seed);
    uint32_t sample = 0;
    for (uint32_t v = 0; v < (uint32_t)shards; v++)
        for (uint32_t p = v; p < data->samples; p += (uint32_t)shards) order[p] = sample++;
    return STATUS_OK;
}

static status order_of_samples(const dataset *data, int shards, uint64_t shard_seed,
                               uint32_t *order, error *err) {
    const random_stream stream = {shard_seed, RANDOM_DEAL, 0, 0, 0};
    if (data->shards) return order_of_files(data, shards, shard_seed, order, err);
    random_permutation(&stream, order, data->samples);
    return STATUS_OK;
}

// Deals the first `count` samples of the order that are not left out. (All are, if it is unknown
// which are left out: then only the sizes are of interest.)
static void deal_out(deal *d, const uint32_t *order, uint32_t count, const bool *left_out) {
    const uint32_t shards = (uint32_t)d->shards;
    uint32_t dealt = 0;
    for (uint32_t p = 0; dealt < count; p++) {
        if (left_out && left_out[order[p]]) continue;
        d->sample[dealt % shards][dealt / shards] = order[p];
        dealt++;
    }
}

// Makes room for `count` samples.
static status make_room(deal *d, uint32_t count, error *err) {
    const uint32_t shards = (uint32_t)d->shards;
    d->size = memory_new(shards, sizeof *d->size);
    d->sample = memory_new(shards, sizeof *d->sample);
    uint32_t *all = memory_try_new(count, sizeof *all, err); // owned by sample[0]
    if (!all) {
        free(all);
        return STATUS_FAILED;
    }
    for (uint32_t v = 0; v < shards; v++) {
        d->size[v] = count / shards + (v < count % shards);
        d->sample[v] = all;
        all += d->size[v];
    }
    return STATUS_OK;
}

status deal_init_without(deal *d, const dataset *data, const holdout *left, int shards,
                         uint64_t shard_seed, error *err) {
    const uint32_t count = data->samples - (left ? left->count : 0);
    uint32_t *order = NULL;
    status rc = STATUS_FAILED;
    *d = (deal){.shards = shards};
    if (shards < 1 || (uint32_t)shards > count)
        return error_set(err, STATUS_USAGE,
                         "cannot deal dataset: '%s': %d shards for %u sample%s; each needs one",
                         data->paths[0], shards, count, count == 1 ? "" : "s");
    order = memory_try_new(data->samples, sizeof *order, err);
    if (!order) goto out;
    TRY(make_room(d, count, err));
    TRY(order_of_samples(data, shards, shard_seed, order, err));
    deal_out(d, order, count, left ? left->out : NULL);
out:
    free(order);
    if (rc != STATUS_OK) deal_release(d);
    return rc;
}

status deal_init(deal *d, const dataset *data, int shards, uint64_t shard_seed, error *err) {
    return deal_init_without(d, data, NULL, shards, shard_seed, err);
}

void deal_release(deal *d) {
    if (d->sample) free(d->sample[0]);
    free(d->sample);
    free(d->size);
    memset(d, 0, sizeof *d);
}
