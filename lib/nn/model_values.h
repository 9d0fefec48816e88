// SPDX-License-Identifier: MIT
// model_values.h - checks the values in a model's tensors: all must be finite, and running
// variances must not be negative. A bad value shows as a plausible accuracy sooner than as an
// error, so tensors are checked whenever they are read or written.
#ifndef LOCKSTEP_NN_MODEL_VALUES_H
#define LOCKSTEP_NN_MODEL_VALUES_H

#include "nn/model.h"

typedef struct bad_value {
    size_t element; // index in its tensor
    double value;   // not finite, or negative where not allowed; a NaN is stored without its sign
} bad_value;

// Returns true if the tensor is the running variance of a batch norm.
bool model_is_variance(const model *m, const model_tensor *t);

// Finds the first of `count` values that is not finite or, with `negative_too`, is below 0. Returns
// false if there is none.
bool values_find_bad(const float *values, size_t count, bool negative_too, bad_value *bad);

#endif
