// strategy_single.c - one process with all shards; on a CPU its threads share them.
#include "train/replica.h"

static status find_world(const experiment *e, int wanted, world *w, error *err) {
    (void)e;
    *w = (world){.size = 1};
    if (wanted <= 1) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot start: '--world-size %d': one device is one worker; train-ddp starts "
                     "several",
                     wanted);
}

status strategy_launch_here(const world *w, const message_sizes *sizes, launch_body body,
                            void *argument, const logger *log, error *err) {
    (void)w, (void)sizes, (void)log;
    comm *c;
    status rc = comm_self(&c, err);
    if (rc != STATUS_OK) return rc;
    rc = body(argument, c, err);
    comm_free(c);
    return rc;
}

const strategy strategy_single = {
    .name = "single",
    .track = "thread 0",
    .find_world = find_world,
    .launch = strategy_launch_here,
    .open = replica_open,
    .close = replica_close,
    .shards = replica_shards,
    .write = replica_write,
    .read = replica_read,
    .step = replica_step,
    .infer = replica_infer,
    .times = replica_times,
    .isa = replica_isa,
    .memory = replica_memory,
    .describe = replica_describe,
};
