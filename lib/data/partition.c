// SPDX-License-Identifier: MIT
#include "data/partition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

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
    const random_stream stream = {shard_seed, RANDOM_PARTITION, 0, 0, 0};
    if (data->shards) return order_of_files(data, shards, shard_seed, order, err);
    random_permutation(&stream, order, data->samples);
    return STATUS_OK;
}

// Assigns the first `count` samples of the order that are not left out. (All are, if it is unknown
// which are left out: then only the sizes are of interest.)
static void assign(partition *to, const uint32_t *order, uint32_t count, const bool *left_out) {
    const uint32_t shards = (uint32_t)to->shards;
    uint32_t place = 0;
    for (uint32_t p = 0; place < count; p++) {
        if (left_out && left_out[order[p]]) continue;
        to->sample[place % shards][place / shards] = order[p];
        place++;
    }
}

// Makes room for `count` samples.
static status make_room(partition *p, uint32_t count, error *err) {
    const uint32_t shards = (uint32_t)p->shards;
    p->size = memory_new(shards, sizeof *p->size);
    p->sample = memory_new(shards, sizeof *p->sample);
    uint32_t *all = memory_try_new(count, sizeof *all, err); // owned by sample[0]
    if (!all) return STATUS_FAILED;
    for (uint32_t v = 0; v < shards; v++) {
        p->size[v] = count / shards + (v < count % shards);
        p->sample[v] = all;
        all += p->size[v];
    }
    return STATUS_OK;
}

status partition_init(partition *p, const dataset *data, const holdout *left, int shards,
                      uint64_t shard_seed, error *err) {
    const uint32_t count = data->samples - (left ? left->count : 0);
    uint32_t *order = NULL;
    status rc = STATUS_FAILED;
    *p = (partition){.shards = shards};
    if (shards < 1 || (uint32_t)shards > count)
        return error_set(err, STATUS_USAGE,
                         "cannot deal dataset: '%s': %d shards for %u sample%s; each needs one",
                         data->paths[0], shards, count, count == 1 ? "" : "s");
    order = memory_try_new(data->samples, sizeof *order, err);
    if (!order) goto out;
    TRY(make_room(p, count, err));
    TRY(order_of_samples(data, shards, shard_seed, order, err));
    assign(p, order, count, left ? left->out : NULL);
out:
    free(order);
    if (rc != STATUS_OK) partition_release(p);
    return rc;
}

void partition_release(partition *p) {
    if (p->sample) free(p->sample[0]);
    free(p->sample);
    free(p->size);
    memset(p, 0, sizeof *p);
}
