// SPDX-License-Identifier: MIT
// timeline.h - the series of a run's steps: loss, digest of the parameters after the step, and
// times.
//
// The tensors are those of steps.st.zst (docs/formats.md); state.st.zst holds them too, with the
// prefix "steps.".
#ifndef LOCKSTEP_TRAIN_TIMELINE_H
#define LOCKSTEP_TRAIN_TIMELINE_H

#include <stdint.h>

#include "base/error.h"
#include "compute/backend.h"
#include "data/tensor/tensor_file.h"

typedef struct timeline {
    uint64_t steps, capacity;
    float *loss;            // mean over the samples of the step
    uint64_t *digest;       // of all parameters after it
    uint64_t *wall;         // ns from the end of the previous step to the end of this one
    uint64_t *time[PHASES]; // ns of each phase, means over threads and ranks
} timeline;

// Allocates room for `capacity` steps.
void timeline_init(timeline *t, uint64_t capacity);
// A zeroed struct is fine.
void timeline_release(timeline *t);

// Appends a step; there must be room.
void timeline_append(timeline *t, const update_result *result, uint64_t wall,
                     const phase_times *times);

// Adds the series as tensors PREFIXloss, PREFIXdigest, … that point into the timeline.
void timeline_store(const timeline *t, const char *prefix, tensor_file *f);
// Reads `steps` steps from the file named `path`; the timeline must have room for them.
status timeline_load(timeline *t, const char *prefix, uint64_t steps, const tensor_file *f,
                     const char *path, error *err) MUST_CHECK;

#endif
