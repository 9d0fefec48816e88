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
    const double *accuracy;                   // after each epoch; NULL likewise
    double total_seconds;                     // of the whole training; NAN likewise
} steps;

// Reads `steps.st.zst` of a run.
status steps_read(const run *r, steps *s, error *err) MUST_CHECK;
void steps_release(steps *s);

// What a run deals out; NAN where its manifest does not say how many samples and shards there are.
// Samples of a step, counted within its epoch.
double steps_samples(const run *r, size_t step);
// Micro-batches of a pipeline, a step of an epoch on average: the shards that have samples of the
// step; with sync_batch_norm all go as one.
double steps_micro_batches(const run *r);

#endif
