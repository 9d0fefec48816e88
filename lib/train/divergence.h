// divergence.h - the end of a training whose numbers are none any more: at which step, and what is
// said of it.
#ifndef LOCKSTEP_TRAIN_DIVERGENCE_H
#define LOCKSTEP_TRAIN_DIVERGENCE_H

#include "train/checkpoint.h"

// STATUS_FAILED for a step (from 0) with such a loss; names the first tensor of `c`, which holds
// what the step left, that has such a value too, if one has.
status divergence_of_loss(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch, float loss,
                          error *err) MUST_CHECK;

// Likewise for a step behind which a tensor of `c` holds such a value, if one does. The loss is
// taken before the update, and running statistics play no part in it.
status divergence_of_tensors(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch,
                             error *err) MUST_CHECK;

#endif
