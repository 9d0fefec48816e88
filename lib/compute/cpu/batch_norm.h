// SPDX-License-Identifier: MIT
// batch_norm.h - batch norm's statistics: of a shard, and running ones.
#ifndef LOCKSTEP_COMPUTE_CPU_BATCH_NORM_H
#define LOCKSTEP_COMPUTE_CPU_BATCH_NORM_H

#include "compute/cpu/group_work.h"

// `groups`: of the engine, at most. `taken`: take.h. norm_state_release() it, even after a failure.
status norm_state_init(norm_state *n, size_t channels, const engine_options *o, int groups,
                       size_t *taken, error *err) MUST_CHECK;
void norm_state_release(norm_state *n);

// A batch norm in a step, on one thread.
typedef struct norm_step {
    execution *e;
    const ownership *owners;
    team *team;
    const unit *u;
    int member;
} norm_step;

// All threads call these together, after a barrier; each computes its part of the channels. The end
// is a barrier, too. They return false if an exchange failed (norm_state.failed); all threads then
// leave the step.
bool batch_norm_forward(const norm_step *n);
bool batch_norm_backward(const norm_step *n);

// Computes scale and shift from the running statistics.
void batch_norm_inference(execution *e);
// Updates a part of the running statistics after a step, from the reduced gradient buffer.
void batch_norm_update(const execution *e, const ownership *o, const float *reduced, op_slice s);

#endif
