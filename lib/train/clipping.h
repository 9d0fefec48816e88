// SPDX-License-Identifier: MIT
// clipping.h - gradient clipping by norm, as torch.nn.utils.clip_grad_norm_ over the tensors that
// the step trains.
//
// The norm is that of the mean gradient of the step, from the reduced gradient buffer. Its order of
// sums is fixed: the squares of a tensor go to 16 sums in turn, in double, which are added by
// halves; then the tensors are added in the order of the model. So the stages of a pipeline, each
// with the sums of its own tensors, have the same norm as one engine with all of them.
#ifndef LOCKSTEP_TRAIN_CLIPPING_H
#define LOCKSTEP_TRAIN_CLIPPING_H

#include "base/error.h"
#include "compute/backend.h"
#include "nn/model.h"

typedef struct clipping {
    const model *model;              // not owned
    double *squares;                 // of each tensor's gradient
    const uint8_t *parameter_groups; // engine_options.parameter_groups; NULL: all are trained
} clipping;

// `groups` must outlive it.
void clipping_init(clipping *c, const model *m, const uint8_t *groups);
void clipping_release(clipping *c); // a zeroed struct is fine

// Adds the tensors of the layers [first, end) from a reduced gradient buffer, which holds sums of
// gradients. Several threads may add different layers.
void clipping_add(clipping *c, int first, int end, const float *gradients);
// After all layers: sets rule->factor. As in PyTorch it is clip_norm / (norm + 1e-6), and 1 if that
// is more. A norm that is not finite makes parameters, and so the next loss, a NaN, which ends the
// run.
void clipping_finish(const clipping *c, const batch *b, update_rule *rule);

// Both, if the rule clips: for a gradient buffer of all layers.
void clipping_apply(clipping *c, const float *gradients, const batch *b, update_rule *rule);

#endif
