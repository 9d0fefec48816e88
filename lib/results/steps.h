// SPDX-License-Identifier: MIT
// steps.h - the records of a run's steps, from steps.st.zst.
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
    const uint64_t *wall, *phase[RUN_PHASES]; // ns; NULL if the file has none
    const double *accuracy;                   // after each epoch; NULL likewise
    double total_seconds;                     // of the whole training; NAN likewise
} steps;

// Reads `steps.st.zst` of a run.
status steps_read(const run *r, steps *s, error *err) MUST_CHECK;
void steps_release(steps *s);

// Returns the number of samples of a step, counted within its epoch; NAN if the manifest does not
// give the samples and shards.
double steps_samples(const run *r, size_t step);
// Returns the mean number of a pipeline's micro-batches per step of an epoch: the shards with
// samples in the step; with sync_batch_norm all shards form one. NAN likewise.
double steps_micro_batches(const run *r);

#endif
