// SPDX-License-Identifier: MIT
// shards.h - the shards of a step, their samples, and the reduction tree above them. The leaves of
// the tree are whole shards here, except those without a sample.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_SHARDS_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_SHARDS_H

#include "base/reduction_tree.h"
#include "compute/backend.h"

enum { COVER_MOST = 2 * REDUCTION_TREE_MAX_DEPTH };

typedef struct step_shards {
    int count;              // V
    int first, end;         // this engine's
    int *samples;           // [V]
    int *leaves, *full;     // [V + 1], [V]: the first leaf of each; 1, or 0 if it has no sample
    int groups;             // of GROUP samples, in this engine's shards
    int run_first, run_end; // the engine's shards that operations work on, from 0
    reduction_tree tree;
    int cover[COVER_MOST], cover_count;
} step_shards;

// *most: of the gradient buffers that leave the engine in a step, if it gets at most `local`
// shards.
status cuda_shards_open(step_shards *s, int count, int local, size_t *most, error *err) MUST_CHECK;
void cuda_shards_close(step_shards *s);
// Fits the tree and the counts to a batch, which has no more shards and samples than planned.
// *resized: the engine has a different number of shards than before.
status cuda_shards_fit(step_shards *s, const batch *b, bool *resized, error *err) MUST_CHECK;

// Returns the number of this engine's shards in the step.
static inline int cuda_own_shards(const step_shards *s) {
    return s->end - s->first;
}

#endif
