// SPDX-License-Identifier: MIT
// strategy_dp.h - internals of the DataParallel executor. strategy_dp.c: overview, opening and
// closing; strategy_dp_step.c: the work of the master and the replicas in a step;
// strategy_dp_times.c: running and timing it, and the manifest's figures.
#ifndef LOCKSTEP_TRAIN_STRATEGY_DP_H
#define LOCKSTEP_TRAIN_STRATEGY_DP_H

#include "base/reduction_tree.h"
#include "compute/cpu/team.h"
#include "train/clipping.h"
#include "train/strategy.h"

// The activities of a step, in order.
typedef enum activity {
    BROADCAST,
    SCATTER,
    FORWARD,
    GATHER,
    LOSS,
    SCATTER_GRADIENT,
    BACKWARD,
    REDUCE,
    UPDATE,
    ACTIVITIES
} activity;

typedef struct part { // one replica
    executor *owner;
    int number;
    trace_track *track;
    batch batch;
    uint8_t *pixels; // its own copy of its samples; NULL if its engine has the data set
    const uint8_t **images;
    sample_target *targets;
    uint32_t *ids, *rows;
    float *logits, *losses; // on its engine's device; the logits become their gradients
    phase_times spent;      // in the current region
    uint64_t busy, waiting; // ns so far; the rest is copying and reducing
    status rc;
    error err;
} part;

struct executor {
    const backend *backend;
    const program *program;
    part *parts;
    engine **engines;      // of the replicas; engines[0] is the master's
    const char *transport; // of transfers between replicas; NULL: not applicable
    int replicas, shards, local_shards;
    size_t sample_bytes, gradient_floats;
    bool kept; // the engines have the data set
    bool reduce_fast;
    bool clips;
    clipping clipping;
    team *team;    // one member per replica
    activity what; // of all replicas at once; `body` performs it
    void (*body)(void *, int);
    uint64_t began; // clock at the beginning of the step
    const batch *batch;
    // On the master's device: its parameters and buffers, to be sent to the replicas; the logits
    // and losses of all groups.
    float *parameters, *buffers, *logits, *losses;
    engine_copy *copies; // gradients and losses, to each replica
    char *sync;          // sync_batch_norm: the rows of all shards
    phase_times own;
    uint64_t steps, ns[ACTIVITIES], bytes[ACTIVITIES];
};

// strategy_dp_step.c: hooks of strategy.h and engine_options.
status dp_step(executor *x, const batch *b, const update_rule *rule, const bool request[REQUESTS],
               step_result *result, error *err) MUST_CHECK;
// sync_batch_norm: called by the threads of all replicas, in the same order.
status dp_exchange(void *part, const void *mine, size_t bytes_per_shard, void *rows,
                   error *err) MUST_CHECK;

static inline size_t dp_block(const executor *x) { // floats in a group's logits
    return (size_t)x->program->classes * GROUP;
}

// strategy_dp_times.c
// Runs `body` on all replicas at once, with x->parts and the replica's number. A replica's time is
// that booked in `spent`; the rest of the region counts as waiting.
status dp_all(executor *x, activity what, void (*body)(void *, int), error *err) MUST_CHECK;
// Books the time since `begin` as work of the master and waiting of the others.
void dp_alone(executor *x, activity what, phase spent, uint64_t begin);
// Hooks of strategy.h:
phase_times dp_times(executor *x);
void dp_describe(const executor *x, yaml_node *segment);

#endif
