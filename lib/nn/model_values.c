// SPDX-License-Identifier: MIT
#include "nn/model_values.h"

#include <math.h>

bool model_is_variance(const model *m, const model_tensor *t) {
    const layer *l = &m->program.layers[t->layer];
    return t->is_buffer && t->offset == l->variance;
}

bool values_find_bad(const float *values, size_t count, bool negative_too, bad_value *bad) {
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && !(negative_too && values[i] < 0)) continue;
        *bad = (bad_value){i, isnan(values[i]) ? (double)NAN : (double)values[i]};
        return true;
    }
    return false;
}
