// strategy_dp.h - the executor of DataParallel from inside. strategy_dp.c: its life, and what
// DataParallel is; strategy_dp_step.c: what the master and its replicas do in a step;
// strategy_dp_times.c: running and timing that, and what the manifest says of it.
#ifndef LOCKSTEP_TRAIN_STRATEGY_DP_H
#define LOCKSTEP_TRAIN_STRATEGY_DP_H

#include "base/reduction_tree.h"
#include "compute/cpu/team.h"
#include "train/strategy.h"

// What a step does, one after the other.
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
    uint8_t *pixels; // its own copy of its samples; none where its engine has the data set
    const uint8_t **images;
    uint32_t *labels;
    uint32_t *ids, *rows;
    float *gradients, *losses; // of its logits, where its engine computes
    phase_times spent;         // in the current region
    uint64_t busy, waiting;    // ns so far; the rest is copying and reducing
    status rc;
    error err;
} part;

struct executor {
    const backend *backend;
    const program *program;
    part *parts;
    engine **engines;      // theirs: engines[0] is the master's
    const char *transport; // how what crosses travels; NULL: that is no question
    int replicas, shards, local_shards;
    size_t sample_bytes, record;
    bool kept; // the engines have the data set
    bool reduce_fast;
    team *team;    // one member a replica
    activity what; // of all replicas at once: what, and how
    void (*body)(void *, int);
    uint64_t began; // clock at the beginning of the step
    const batch *batch;
    // Where the master computes: its parameters and buffers, on their way to the replicas; logits
    // and losses of all groups.
    float *parameters, *buffers, *logits, *losses;
    engine_copy *copies; // of gradients and losses, to each replica
    int *cover;
    const float **terms;
    char *sync; // sync_batch_norm: the rows of all shards
    phase_times own;
    uint64_t steps, ns[ACTIVITIES], bytes[ACTIVITIES];
};

// strategy_dp_step.c: hooks of strategy.h and engine_options.
status dp_step(executor *x, const batch *b, const update_rule *rule, const bool wish[WISHES],
               step_result *result, error *err) MUST_CHECK;
// sync_batch_norm: called from the threads of all replicas, in the same order.
status dp_exchange(void *part, const void *mine, size_t bytes_per_shard, void *rows,
                   error *err) MUST_CHECK;

static inline size_t dp_block(const executor *x) { // floats of a group's logits
    return (size_t)x->program->classes * GROUP;
}

// strategy_dp_times.c
// Runs `body` on all replicas at once: each gets x->parts and its number. A replica's time is what
// it booked to `spent`; the rest of the region is waiting.
status dp_all(executor *x, activity what, void (*body)(void *, int), error *err) MUST_CHECK;
// The master worked since `begin`, and the others waited.
void dp_alone(executor *x, activity what, phase spent, uint64_t begin);
// Hooks of strategy.h:
phase_times dp_times(executor *x);
status dp_describe(const executor *x, yaml_node *segment, error *err) MUST_CHECK;

#endif
