// SPDX-License-Identifier: MIT
// strategy_single.c - one process with all shards, which its threads share on a CPU.
#include "train/replica.h"

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
    .engines = replica_engines,
    .describe = replica_describe,
};
