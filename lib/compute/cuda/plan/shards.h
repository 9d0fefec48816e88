// SPDX-License-Identifier: MIT
// shards.h - the shards of a step, their samples, and the reduction tree above them. The leaves of
// the tree are whole shards here, except those without a sample. At the end, the slices in which
// ranks reduce.
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

// ---- Slices ----

// A *bucket*, the part of the gradient buffer that ranks reduce at once (or all of it), is cut into
// slices, one per rank. The slices of a bucket that does not end with the gradient buffer have
// equal length.
typedef struct slices {
    size_t first, end; // the bucket, in floats
    size_t each; // as many as ranks cover the bucket and, at the end of the gradient buffer, a bit
                 // more
} slices;

slices cuda_slices(size_t first, size_t end, int ranks);
// Returns the floats of slice q.
size_t cuda_slice(const slices *s, int q);
// Returns the granularity of equal slices: their length times their number is a multiple of it.
size_t cuda_slice_unit(int ranks);
// Returns how far slices reach beyond the end of a gradient buffer, at most; there are at most V
// ranks.
size_t cuda_slice_margin(int shards);

#endif
