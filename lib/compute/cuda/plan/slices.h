// SPDX-License-Identifier: MIT
// slices.h - how ranks cut a gradient buffer. A *bucket*, the part of the gradient buffer that is
// reduced at once (or all of it), is cut into slices, one per rank.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_SLICES_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_SLICES_H

#include <stddef.h>

// The slices of a bucket that does not end with the gradient buffer have equal length.
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
