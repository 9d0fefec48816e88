// SPDX-License-Identifier: MIT
// ownership.h - the groups of a step, the reduction tree above them, and which thread has which.
//
// A group is a leaf of the tree. The leaves of a thread are contiguous. If the groups do not keep
// all threads busy, neighbouring threads form *crews*: the first thread has the leaves, and all of
// the crew run the operations on its groups, each a slice of every operation (plan/slices.h). Most
// steps have a crew for each thread. Sums along the tree are the same however threads are divided.
#ifndef LOCKSTEP_COMPUTE_CPU_OWNERSHIP_H
#define LOCKSTEP_COMPUTE_CPU_OWNERSHIP_H

#include "base/reduction_tree.h"
#include "compute/backend.h"
#include "compute/cpu/team.h"

typedef struct group {
    int shard;   // local number
    int samples; // 1 … 16
    int first;   // index of its first sample in the batch
    bool leads;  // the first group of its shard
} group;

typedef struct leaf_range {
    int first, end;
} leaf_range;

typedef struct ownership {
    int shards, capacity; // V; groups of this engine, at most
    int room, threads;    // threads of this engine; those that compute
    int cores;            // so many of them may share groups; 0: all, but they have no core each
    int mates;            // that do, besides the first one of each crew
    int rest, next_rest;  // steps without shared groups: see ownership_shared
    bool other_crews;     // from the next step on; readers of the tree still need this one
    // Of all shards: samples and groups of each; first leaf of each, then the leaf count.
    int *counts, *shard_groups, *shard_leaves;
    int first_shard, end_shard; // this engine's
    group *groups;              // this engine's, `count` of them
    int count;
    int first_leaf; // of this engine
    reduction_tree tree;
    int run_first, run_end; // the local shards being run
    leaf_range run;         // their leaves
    leaf_range *leaves;     // of each thread
    crew *crews;            // likewise
    int stack, cover;       // most pending sums of a thread; most nodes of a cover
} ownership;

// Returns how many of the threads of an engine have work: in excess of its cores, no more than it
// has groups.
int ownership_threads(const engine_options *options);

// `taken`: take.h. ownership_release() it, even after a failure.
status ownership_init(ownership *o, const engine_options *options, size_t *taken,
                      error *err) MUST_CHECK;
void ownership_release(ownership *o);

// Adapts tree and groups to the sample counts of a batch, and assigns all of its shards to the
// threads that it asks for; *changed: they were others.
status ownership_fit(ownership *o, const batch *b, bool *changed, error *err) MUST_CHECK;
// The next ownership_fit() finds other counts.
void ownership_forget(ownership *o);
// Distributes the leaves of local shards [first, end) over the threads.
void ownership_assign(ownership *o, int first, int end);

// After a step that took `ns`, in which threads that shared groups slept for `slept`, all together.
// Where other programs keep the processors busy, such threads wait for each other longer than they
// compute. Then each computes by itself for some steps, and for twice as many each time that
// sharing does not pay again.
void ownership_shared(ownership *o, uint64_t slept, uint64_t ns);

// Returns the number of crews that `threads` threads best form for so many groups.
int ownership_crews(int groups, int threads);

// Returns the most sums of a thread that wait at once, while it processes its leaves in order.
int ownership_stack_needed(const ownership *o, int thread);

// Returns the number of samples of the step, in all shards.
int ownership_samples(const ownership *o);

static inline int ownership_local_shards(const ownership *o) {
    return o->end_shard - o->first_shard;
}

#endif
