// SPDX-License-Identifier: MIT
// strategy_single.c - one process with all shards, which its threads share on a CPU.
#include "train/replica.h"

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

static status find_world(const experiment *e, int wanted, int listed, world *w, error *err) {
    (void)e;
    *w = (world){.size = 1};
    if (listed > 1)
        return error_set(err, STATUS_USAGE,
                         "cannot start: '--device': a list of %d devices needs as many ranks; "
                         "train-ddp starts several",
                         listed);
    if (wanted <= 1) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot start: '--world-size %d': one device is one rank; train-ddp starts "
                     "several",
                     wanted);
}

status strategy_launch_one(const world *w, const message_sizes *sizes, launch_body body,
                           void *argument, launch_death *death, const logger *log, error *err) {
    comm *c;
    *death = (launch_death){.happened = false};
    if (w->supervised)
        return launch_local(1, sizes->floats, sizes->gather_bytes, body, argument, death, log, err);
    comm_self(&c);
    status rc = body(argument, c, err);
    comm_free(c);
    return rc;
}

const strategy strategy_single = {
    .name = "single",
    .track = "thread 0",
    .find_world = find_world,
    .launch = strategy_launch_one,
    .open = replica_open,
    .close = replica_close,
    .shards = replica_shards,
    .write = replica_write,
    .read = replica_read,
    .step = replica_step,
    .collect = replica_collect,
    .infer = replica_infer,
    .times = replica_times,
    .isa = replica_isa,
    .memory = replica_memory,
    .all_engines = replica_all_engines,
    .describe = replica_describe,
};
