// SPDX-License-Identifier: MIT
// cpu_engine.h - the CPU engine, which executes a plan (plan/step_plan.h) on a team of threads.
//
// After a superstep, behind a barrier, the threads together run the operation that joins the
// groups. Without batch norm a step is one superstep, and a thread needs memory for a single group
// only.
//
// The files above the engine: engine.c, opening and closing; step.c, steps and inference;
// parameters.c, the update. Below it every file has a header of its own: step.c calls operations.h
// and batch_norm.h, operations.c calls layers.h, convolution.h and exchange.h, and these call
// kernels.h.
#ifndef LOCKSTEP_COMPUTE_CPU_CPU_ENGINE_H
#define LOCKSTEP_COMPUTE_CPU_CPU_ENGINE_H

#include "compute/cpu/cpu_plan.h"
#include "compute/cpu/gradients.h"

// Memory of groups.
typedef struct slot_memory {
    char *base;
    size_t bytes, count; // of a slot; slots
} slot_memory;

// Memory that other engines use, too (backend.h).
typedef struct given_memory {
    float **pieces;
    size_t count, room;
} given_memory;

struct engine {
    execution execution;
    ownership ownership;
    gradients gradients;
    cpu_plan training, inference;
    // If training has the filters of one superstep at a time, inference has its own, from the first
    // call on. If not, inference has those of training.
    bool inference_is_old; // its own filters are those of earlier parameters
    team *team;
    team_member *members;
    slot_memory slots;
    optimizer_kind kind;
    float *state[2];
    given_memory given;
    size_t taken; // bytes
};

// step.c, for the table:
status cpu_run(engine *e, const batch *b, const run_part *part, error *err) MUST_CHECK;
status cpu_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err) MUST_CHECK;
// parameters.c, for the table:
void cpu_write(engine *e, const float *parameters, const float *buffers, const float *state);
status cpu_read(engine *e, float *parameters, float *buffers, float *state, error *err) MUST_CHECK;
status cpu_update(engine *e, const update_rule *rule, update_result *result, error *err) MUST_CHECK;

#endif
