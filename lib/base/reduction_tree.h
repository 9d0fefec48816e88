// SPDX-License-Identifier: MIT
// reduction_tree.h - the one order in which sums are taken.
//
// Floating-point addition is not associative, so a sum has the same bits at every thread count and
// world size only if its shape never changes. A step's gradient is a sum over *leaves*: the groups
// of 16 samples of shard 0, then those of shard 1, … Groups are added along a tree inside their
// shard, and the shards along a tree above. Both trees split n leaves at the largest power of two
// below n (as Merkle trees do: RFC 6962), so that a prefix of the leaves has the tree of that
// prefix, and missing ends change nothing.
//
// Nodes are numbered in post-order: children before parents, the left subtree before the right one,
// the root last. Six groups:
//
//                 10
//               /    \.
//             6        9         The owner of a contiguous range of leaves can compute the maximal
//           /   \     / \.       subtrees inside it alone; only these are exchanged. Leaves 2 to 5,
//         2      5   7   8       for example, are covered by nodes 5 and 9.
//        / \    / \.
//       0   1  3   4
#ifndef LOCKSTEP_BASE_REDUCTION_TREE_H
#define LOCKSTEP_BASE_REDUCTION_TREE_H

#include <stddef.h>

#include "base/error.h"

enum { REDUCTION_TREE_MAX_DEPTH = 32 };

typedef struct tree_node {
    int left, right; // node numbers, or -1 and -1 for a leaf
    int first, end;  // the leaves below: first … end-1
} tree_node;

typedef struct reduction_tree {
    tree_node *nodes; // post-order; `count` of them: 2·leaves - 1, or 0 if there is no leaf
    int count;
    int *leaf_node; // the node of each leaf
    int leaves;
    int depth; // nodes on the longest path from the root to a leaf
} reduction_tree;

// Builds the tree over `shards` shards, of which shard v has groups[v] leaves; empty shards are
// left out. Refuses a tree of more than 2^30 leaves or REDUCTION_TREE_MAX_DEPTH levels.
status reduction_tree_init(reduction_tree *t, const int *groups, int shards, error *err) MUST_CHECK;
void reduction_tree_release(reduction_tree *t);

// Writes the node numbers of the maximal subtrees inside leaves [first, end) to `nodes` (room for
// 2·depth), left to right. Returns how many there are.
int reduction_tree_cover(const reduction_tree *t, int first, int end, int *nodes);

// For the stack machine of an owner that has only leaves [first, end): returns the number of merges
// of pending sums after leaf `leaf` was pushed. After its last leaf the stack holds the cover.
int reduction_tree_merges(const reduction_tree *t, int first, int end, int leaf);

// The same if sums of nodes that cover all leaves are pushed: returns the merges after that of
// `node`. For a leaf this is reduction_tree_merges(t, 0, leaves, leaf).
int reduction_tree_node_merges(const reduction_tree *t, int node);

// Returns the most sums that such a stack ever holds, whatever range its owner has: the pending
// ones and the leaf that was just pushed. A tree with fewer leaves in some shards never needs more.
int reduction_tree_stack(const reduction_tree *t);

// Sets out[0 … n) to the sum over the tree. term[k] points to the sums of node cover[k]; the
// `terms` nodes together cover all leaves, in order. `out` may be one of the terms. Without a leaf
// the sums are zeros. The bits do not depend on which cover is given. Allocates nothing; takes 140
// KiB of stack.
void reduction_tree_sum(const reduction_tree *t, const int *cover, const float *const *term,
                        int terms, float *out, size_t n);

// The same for the subtree of one node and a part of the vectors: sets out[0 … n) to the sum below
// `node` of elements [first, first + n). term[k] points to the whole vector of node cover[k], and
// the cover is that of the subtree. `out` may be such a part of a term.
void reduction_tree_sum_part(const reduction_tree *t, int node, const int *cover,
                             const float *const *term, int terms, size_t first, float *out,
                             size_t n);

// Sets out[i] = a[i] + b[i], the addition that all of this is made of; `out` may be `a` or `b`.
void reduction_add(const float *a, const float *b, float *out, size_t n);

#endif
