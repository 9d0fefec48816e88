// model_values.h - what the tensors of a model may hold: a number in every place, and in running
// variances none below 0. Whatever else is in one of them shows as a plausible accuracy sooner than
// as a fault: it is looked for wherever tensors come in or go out.
#ifndef LOCKSTEP_NN_MODEL_VALUES_H
#define LOCKSTEP_NN_MODEL_VALUES_H

#include "nn/model.h"

typedef struct bad_value {
    size_t element; // of its tensor
    double value;   // not finite, or below 0 where it must not be; NaN without a sign
} bad_value;

// Is the tensor a running variance of a batch norm?
bool model_is_variance(const model *m, const model_tensor *t);

// The first of `count` values that is not finite or, where none may be below 0, is. False: there is
// none.
bool values_find_bad(const float *values, size_t count, bool negative_too, bad_value *bad);

#endif
