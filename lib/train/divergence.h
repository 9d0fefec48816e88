// SPDX-License-Identifier: MIT
// divergence.h - the errors that end a training with non-finite values, naming the step.
#ifndef LOCKSTEP_TRAIN_DIVERGENCE_H
#define LOCKSTEP_TRAIN_DIVERGENCE_H

#include "train/checkpoint.h"

// STATUS_FAILED for a step (from 0) with a non-finite loss. Also names the first tensor of `c`, the
// state after the step, that has a bad value, if there is one.
status divergence_of_loss(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch, float loss,
                          error *err) MUST_CHECK;

// STATUS_FAILED if a tensor of `c` holds a bad value after the step. The loss does not show that:
// it is computed before the update, and does not depend on running statistics.
status divergence_of_tensors(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch,
                             error *err) MUST_CHECK;

#endif
