// SPDX-License-Identifier: MIT
// gradients.h - gradient buffers (backend.h), from those of a thread's leaves to the reduced one.
//
// The gradient buffers of a thread's leaves go through a stack machine (reduction_tree_merges): the
// operations of a leaf write into a new gradient buffer or, if the tree adds the leaf to the
// preceding sum, directly into that sum. What is left are the *terms*. The threads together add
// these to the gradient buffers of the engine, one for each node of the cover of the leaves.
#ifndef LOCKSTEP_COMPUTE_CPU_GRADIENTS_H
#define LOCKSTEP_COMPUTE_CPU_GRADIENTS_H

#include "compute/cpu/ownership.h"

typedef struct gradients {
    size_t floats;             // of a gradient buffer
    size_t parameters;         // its floats of parameters
    size_t own_first, own_end; // the part of these that this engine updates
    int members, stack, room;  // stacks; of a stack; of `cover`
    int threads;               // that compute
    float ***stacks;           // [members][stack]; those that a step needs exist
    int *terms_node;           // the threads' own covers, in order
    float **terms;
    int term_count;
    int *cover; // nodes of the tree, and the gradient buffers of each
    float **buffers;
    int first, end; // of them: those of the shards being run; `end` is their number so far
    float *reduced;
} gradients;

// `taken`: take.h. gradients_release() it, even after a failure.
status gradients_init(gradients *g, const program *p, const engine_options *options,
                      const ownership *o, size_t *taken, error *err) MUST_CHECK;
void gradients_release(gradients *g);

// Takes memory for the stacks of a step with other sample counts.
status gradients_fit(gradients *g, const ownership *o, size_t *taken, error *err) MUST_CHECK;
// Prepares the gradient buffers of the shards being run (ownership_assign). Those of a step come in
// order, from shard 0 on.
void gradients_assign(gradients *g, const ownership *o);

// Called by all threads that compute: makes the gradient buffers of the engine from the terms.
void gradients_join(gradients *g, const reduction_tree *tree, int member);

// Sums the gradient buffers of several engines, into the reduced one of the first (backend.h).
void gradients_reduce(const gradients *const *engines, int count, const reduction_tree *tree,
                      bool exact);

#endif
