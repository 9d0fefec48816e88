// SPDX-License-Identifier: MIT
// comm.h - a group of ranks and its collectives, as a table of functions: one file per transport.
//
// Every rank calls the same collectives in the same order. If a rank dies, or is stopped for 60 s
// while others wait for it, the others fail within a second with STATUS_FAILED and a message that
// names the rank. (Between hosts, the launcher detects a death: comm_messages.h.)
//
// In shared memory a collective returns on every rank, or fails on every live rank. With messages
// the guarantee is weaker: a rank that has received all its messages returns, with the right
// result, although others fail; it fails in its next collective. After the return, even of a failed
// collective, the buffers belong to the caller again: nothing reads or writes them any more.
#ifndef LOCKSTEP_DIST_COMM_H
#define LOCKSTEP_DIST_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reduction_tree.h"

typedef struct comm comm;

enum { COMM_ALIVE_MS = 100 };

// The leaves that each rank owns in one step: rank r owns [first[r], first[r + 1]); first has size
// + 1 entries.
typedef struct comm_ownership {
    const reduction_tree *tree;
    const int *first;
} comm_ownership;

typedef struct comm_ops {
    // all[r · bytes …] = mine of rank r, on every rank. The two must not overlap.
    status (*all_gather)(comm *c, const void *mine, size_t bytes, void *all, error *err);
    // The exact all-reduce: out[0 … n) = the sum over the tree, the same bits on every rank.
    // term[k] points to the sums of the k-th node of this rank's cover (reduction_tree_cover of its
    // leaves); `out` may be a term. Each rank sends every vector of its cover, sums one slice of
    // all ranks' vectors in the order of the tree, and receives the other slices.
    status (*reduce_exact)(comm *c, const comm_ownership *own, const float *const *term, float *out,
                           size_t n, error *err);
    // The usual all-reduce: adds `values` of all ranks in rank order. The bits depend on the world
    // size.
    status (*reduce_fast)(comm *c, float *values, size_t n, error *err);
    status (*barrier)(comm *c, error *err);
    // For a rank that waits for the others by other means than these. Returns STATUS_FAILED, with a
    // collective's message, if another rank is known to be dead, gone or failed, or if it was found
    // stopped in every call for 60 s of calls, one per COMM_ALIVE_MS. Never waits.
    status (*alive)(comm *c, error *err);
    void (*free)(comm *c);
} comm_ops;

struct comm {
    const comm_ops *ops;
    const char *transport; // "self", "shared memory", "mpi"
    int rank, size;
    // Bytes that this rank has sent to and received from others so far. Exact collectives with
    // several vectors per rank show here as a factor.
    uint64_t bytes_sent, bytes_received;
};

// Makes a group of one.
comm *comm_self(void);

// Frees the group; NULL is fine.
static inline void comm_free(comm *c) {
    if (c) c->ops->free(c);
}

#endif
