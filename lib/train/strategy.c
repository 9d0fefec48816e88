// SPDX-License-Identifier: MIT
#include "train/strategy.h"

#include <string.h>

int strategy_world_size(const experiment *e, int wanted, int listed) {
    if (wanted) return wanted;
    return listed > 1 ? listed : e->world_size;
}

status strategy_check_devices(int wanted, int listed, error *err) {
    if (!wanted || listed <= 1 || wanted == listed) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot start: '--world-size %d': --device lists %d; name one for each rank, "
                     "or one for all",
                     wanted, listed);
}

status strategy_launch_one(const world *w, const message_sizes *sizes, launch_body body,
                           void *argument, launch_death *death, const logger *log, error *err) {
    *death = (launch_death){.happened = false};
    if (w->supervised)
        return launch_local(1, sizes->floats, sizes->gather_bytes, body, argument, death, log, err);
    comm *c = comm_self();
    status rc = body(argument, c, err);
    comm_free(c);
    return rc;
}

engine_description strategy_describe(const backend *b, engine *const *engines, int count) {
    engine_description all = b->describe(engines[0]);
    for (int i = 1; i < count; i++) {
        const engine_description one = b->describe(engines[i]);
        all.memory += one.memory;
        all.has_images &= one.has_images;
        all.launches_early &= one.launches_early;
    }
    return all;
}

void strategy_give_data(const executor_options *o, engine_options *e) {
    if (!o->data) return;
    e->images = o->data->pixels;
    e->image_count = o->data->samples;
    e->augment = o->augment;
}

engine_options strategy_engine_options(const executor_options *o, int number) {
    const experiment *e = o->experiment;
    engine_options options = {
        .threads = o->threads,
        .spin = o->spin,
        .cores = o->cores,
        .isa = o->isa,
        .device = devices_index(o->devices, number),
        .exact = devices_exact(o->devices),
        .shards = e->virtual_shards,
        .local_shards = e->virtual_shards,
        .shard_samples = e->global_batch / e->virtual_shards,
        .seed = e->seed,
        .sync_batch_norm = e->sync_batch_norm,
        .parameter_groups = e->parameter_groups.of_line,
        .label_smoothing = (float)e->label_smoothing,
    };
    memcpy(options.mean, o->normalization.mean, sizeof options.mean);
    memcpy(options.std, o->normalization.std, sizeof options.std);
    return options;
}
