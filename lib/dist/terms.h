// terms.h - an all-reduce as every transport does it: which vectors each rank brings, and which
// slice of them it adds up.
#ifndef LOCKSTEP_DIST_TERMS_H
#define LOCKSTEP_DIST_TERMS_H

#include <stddef.h>

#include "dist/comm.h"

enum { TERMS_MAX = 2 * REDUCTION_TREE_MAX_DEPTH }; // of a rank: nodes that cover a range of leaves

// The vectors of all ranks, rank 0's first.
typedef struct terms {
    const reduction_tree *tree; // NULL: they are added in the order of ranks, one of each
    int *cover;                 // the node that each is the sum of
    int *first;                 // rank r brings [first[r], first[r + 1])
    const float **at;           // where each lies: whoever adds them up fills it in
    int size;                   // ranks
} terms;

status terms_init(terms *t, int size, error *err) MUST_CHECK;
void terms_release(terms *t);

// Those of an exact reduction, and of a fast one. `at` is undefined behind either.
void terms_set_exact(terms *t, const comm_ownership *own);
void terms_set_fast(terms *t);

int terms_count(const terms *t, int rank); // of one rank
int terms_most(const terms *t);            // of any

// out[0 … n) = the sum of all. `out` may be one of them: with a tree any, else the first.
void terms_sum(const terms *t, float *out, size_t n);

// The part of a vector that one rank adds up: elements [low, high). Slices begin on cache lines, so
// that no two ranks write to one.
typedef struct slice {
    size_t low, high;
} slice;

enum { SLICE_ALIGNMENT = 64 }; // bytes

slice slice_of(size_t n, int size, int rank);

#endif
