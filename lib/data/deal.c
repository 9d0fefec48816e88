// SPDX-License-Identifier: MIT
// The deal: assigns each sample to a virtual shard.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"

// The shard files are the shards, in order.
static status deal_by_file(deal *d, const dataset *data, int shards, uint64_t shard_seed,
                           error *err) {
    if (shards != data->shards || shard_seed != data->shard_seed)
        return error_set(
            err, STATUS_INPUT,
            "cannot deal dataset: '%s': its files hold %d shards dealt with seed %" PRIu64
            ", but %d with seed %" PRIu64
            " were requested: run 'shard' again, or pass the unsharded file",
            data->paths[0], data->shards, data->shard_seed, shards, shard_seed);
    for (uint32_t i = 0; i < data->samples; i++) d->sample[0][i] = i;
    return STATUS_OK;
}

static status deal_by_seed(deal *d, const dataset *data, int shards, uint64_t shard_seed,
                           error *err) {
    const random_stream stream = {shard_seed, RANDOM_DEAL, 0, 0, 0};
    uint32_t *order = memory_new(data->samples, sizeof *order, err);
    if (!order) return STATUS_FAILED;
    random_permutation(&stream, order, data->samples);
    for (uint32_t p = 0; p < data->samples; p++)
        d->sample[p % (uint32_t)shards][p / (uint32_t)shards] = order[p];
    free(order);
    return STATUS_OK;
}

status deal_init(deal *d, const dataset *data, int shards, uint64_t shard_seed, error *err) {
    memset(d, 0, sizeof *d);
    if (shards < 1 || (uint32_t)shards > data->samples)
        return error_set(err, STATUS_USAGE,
                         "cannot deal dataset: '%s': %d shards for %u sample%s; each needs one",
                         data->paths[0], shards, data->samples, data->samples == 1 ? "" : "s");
    d->shards = shards;
    d->size = memory_new((size_t)shards, sizeof *d->size, err);
    d->sample = memory_new((size_t)shards, sizeof *d->sample, err);
    uint32_t *all = memory_new(data->samples, sizeof *all, err); // owned by sample[0]
    if (!d->size || !d->sample || !all) {
        free(all);
        deal_release(d);
        return STATUS_FAILED;
    }
    for (int v = 0; v < shards; v++) {
        d->size[v] =
            data->samples / (uint32_t)shards + ((uint32_t)v < data->samples % (uint32_t)shards);
        d->sample[v] = all;
        all += d->size[v];
    }
    status rc = data->shards ? deal_by_file(d, data, shards, shard_seed, err)
                             : deal_by_seed(d, data, shards, shard_seed, err);
    if (rc != STATUS_OK) deal_release(d);
    return rc;
}

void deal_release(deal *d) {
    if (d->sample) free(d->sample[0]);
    free(d->sample);
    free(d->size);
    memset(d, 0, sizeof *d);
}
