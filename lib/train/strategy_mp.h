// SPDX-License-Identifier: MIT
// strategy_mp.h - internals of the executor of model parallelism. strategy_mp.c: overview, the
// pipeline, opening and closing; strategy_mp_describe.c: the manifest's figures.
#ifndef LOCKSTEP_TRAIN_STRATEGY_MP_H
#define LOCKSTEP_TRAIN_STRATEGY_MP_H

#include <pthread.h>

#include "compute/cpu/team.h"
#include "train/clipping.h"
#include "train/strategy.h"

enum { MAX_STAGES = EXPERIMENT_MAX_STAGES };

typedef struct stage {
    program program; // this stage's layers
    int first_layer;
    engine *engine;
    trace_track *track;
    // Activations and gradients of the stage's output, all groups; NULL for the last stage. The
    // sender writes into the receiver's memory: activations lie with the next stage, gradients with
    // this one. So the copy is part of the sender's time, and the receiver may work on another
    // micro-batch meanwhile.
    float *activations, *gradients;
    int forward_done, backward_done; // micro-batches of this step
    int squares_done;                // 1: this stage's part of the gradient's norm is known
    phase_times spent;
    update_result result;
    uint64_t busy, waiting; // ns so far; the rest is copying and reducing
    uint64_t sent;          // bytes to its neighbours
    status rc;
    error err;
} stage;

struct executor {
    const backend *backend;
    const program *program;
    stage *stages;
    engine *whole;         // all layers, for inference
    const char *transport; // of transfers between stages; NULL: not applicable
    int count, shards;
    bool together; // sync_batch_norm: one micro-batch
    team *team;
    pthread_mutex_t lock; // guards the counters of finished micro-batches, and `failed`
    pthread_cond_t moved;
    bool failed;
    uint64_t began; // clock at the beginning of the step
    const batch *batch;
    const update_rule *rule;
    clipping clipping;
    size_t arrays;                           // of optimizer state
    float *parameters, *buffers, *state;     // whole arenas, for copying from a stage
    float *whole_parameters, *whole_buffers; // assembled, for inference
    phase_times own;
    uint64_t wall, steps, micro_batches;
};

// strategy_mp_describe.c: a hook of strategy.h.
status mp_describe(const executor *x, yaml_node *segment, error *err) MUST_CHECK;

#endif
