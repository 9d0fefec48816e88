// SPDX-License-Identifier: MIT
// strategy_ddp.c - one process per rank, each with its own shards; gradients are reduced, and every
// rank updates.
#include "dist/launch_join.h"
#include "train/replica.h"

static status find_world(const experiment *e, int wanted, int listed, world *w, error *err) {
    *w = (world){.size = strategy_world_size(e, wanted, listed)};
    if (!wanted) {
        NEED(launch_detect(&w->environment, err));
        if (w->environment.joined) w->size = w->environment.size;
    }
    if (e->virtual_shards % w->size == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot divide the shards: '%d' ranks do not divide the %d virtual shards of "
                     "experiment '%s'",
                     w->size, e->virtual_shards, e->name);
}

// Once a rank has left, the others fail, and the launcher kills all: so the error is printed first.
// A stop is no error of one rank: all have saved, and train_run completes the message.
static status join(const world *w, const message_sizes *sizes, launch_body body, void *argument,
                   const logger *log, error *err) {
    comm *c = NULL;
    status rc;
    TRY(launch_join(&w->environment, sizes->floats, sizes->gather_bytes, &c, err));
    TRY(body(argument, c, err));
out:
    if (rc != STATUS_OK && rc != STATUS_STOPPED) log_error(log, err);
    comm_free(c);
    return rc;
}

static status launch(const world *w, const message_sizes *sizes, launch_body body, void *argument,
                     launch_death *death, const logger *log, error *err) {
    *death = (launch_death){.happened = false};
    if (w->environment.joined) return join(w, sizes, body, argument, log, err);
    return launch_local(w->size, sizes->floats, sizes->gather_bytes, body, argument, death, log,
                        err);
}

const strategy strategy_ddp = {
    .name = "ddp",
    .processes = true,
    .mixes = true,
    .reduces = true,
    .track = "thread 0",
    .find_world = find_world,
    .launch = launch,
    .open = replica_open,
    .leave = replica_leave,
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
