// steps.h - what steps.st.zst says about every step of a run.
#ifndef LOCKSTEP_RESULTS_STEPS_H
#define LOCKSTEP_RESULTS_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/tensor/tensor_file.h"
#include "results/run.h"

typedef struct steps {
    tensor_file file;
    size_t count;
    const float *loss;
    const uint64_t *wall, *phase[RUN_PHASES]; // ns; NULL where the file has none
} steps;

// Reads `steps.st.zst` of a run.
status steps_read(const run *r, steps *s, error *err) MUST_CHECK;
void steps_release(steps *s);

#endif
