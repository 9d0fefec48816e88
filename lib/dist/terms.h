// SPDX-License-Identifier: MIT
// terms.h - the plan of an all-reduce on any transport: which vectors each rank contributes, and
// which slice of them it sums.
#ifndef LOCKSTEP_DIST_TERMS_H
#define LOCKSTEP_DIST_TERMS_H

#include <stddef.h>

#include "dist/comm.h"

enum { TERMS_MAX = 2 * REDUCTION_TREE_MAX_DEPTH }; // per rank: nodes that cover a range of leaves

// The vectors of all ranks, rank 0's first.
typedef struct terms {
    const reduction_tree *tree; // NULL: they are added in rank order, one per rank
    int *cover;                 // the node whose sum each holds
    int *first;                 // rank r contributes [first[r], first[r + 1])
    const float **at;           // where each lies; set by the transport before terms_sum
    int size;                   // ranks
} terms;

void terms_init(terms *t, int size);
void terms_release(terms *t);

// Set up the terms of an exact or a fast reduction. `at` is undefined afterwards.
void terms_set_exact(terms *t, const comm_ownership *own);
void terms_set_fast(terms *t);

int terms_count(const terms *t, int rank); // of one rank
int terms_most(const terms *t);            // of any

// out[0 … n) = the sum of all. `out` may be one of them: any with a tree, else the first.
void terms_sum(const terms *t, float *out, size_t n);

// The part of a vector that one rank sums: elements [low, high). Slices begin on cache lines, so
// that no two ranks write to the same line.
typedef struct slice {
    size_t low, high;
} slice;

enum { SLICE_ALIGNMENT = 64 }; // bytes

slice slice_of(size_t n, int size, int rank);

#endif
