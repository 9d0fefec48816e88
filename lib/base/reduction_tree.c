// SPDX-License-Identifier: MIT
#include "base/reduction_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    // Floats per pass over the terms, so few that its pending sums stay in the first-level cache.
    BLOCK = 1024,
    MAX_LEAVES = 1 << 30, // so that 2·leaves - 1 nodes can be numbered
};

// ---- Shape ----

// The largest power of two below n; n ≥ 2.
static int split(int n) {
    return 1 << (31 - __builtin_clz((unsigned)n - 1));
}

static int add_node(reduction_tree *t, tree_node node, int level) {
    if (level > t->depth) t->depth = level;
    t->nodes[t->count] = node;
    return t->count++;
}

static int add_parent(reduction_tree *t, int left, int right, int level) {
    const tree_node node = {left, right, t->nodes[left].first, t->nodes[right].end};
    return add_node(t, node, level);
}

static int add_groups(reduction_tree *t, int n, int level) {
    if (n == 1) {
        const tree_node leaf = {-1, -1, t->leaves, t->leaves + 1};
        t->leaf_node[t->leaves++] = t->count;
        return add_node(t, leaf, level);
    }
    const int left = add_groups(t, split(n), level + 1);
    const int right = add_groups(t, n - split(n), level + 1);
    return add_parent(t, left, right, level);
}

static int add_shards(reduction_tree *t, const int *groups, int shards, int level) {
    if (shards == 1) return add_groups(t, groups[0], level);
    const int cut = split(shards);
    const int left = add_shards(t, groups, cut, level + 1);
    const int right = add_shards(t, groups + cut, shards - cut, level + 1);
    return add_parent(t, left, right, level);
}

status reduction_tree_init(reduction_tree *t, const int *groups, int shards, error *err) {
    *t = (reduction_tree){0};
    status rc = STATUS_FAILED;
    int64_t leaves = 0;
    int used = 0;
    int *filled = memory_new(shards > 0 ? (size_t)shards : 0, sizeof *filled);
    for (int v = 0; v < shards; v++) {
        if (groups[v] <= 0) continue;
        filled[used++] = groups[v];
        leaves += groups[v];
    }
    if (leaves > MAX_LEAVES) {
        rc = error_set(err, STATUS_FAILED, "cannot make a reduction tree: more than %d leaves",
                       MAX_LEAVES);
        goto out;
    }
    t->nodes = memory_new(leaves ? 2 * (size_t)leaves - 1 : 0, sizeof *t->nodes);
    t->leaf_node = memory_new((size_t)leaves, sizeof *t->leaf_node);
    if (used) add_shards(t, filled, used, 1);
    rc = STATUS_OK;
    if (t->depth > REDUCTION_TREE_MAX_DEPTH)
        rc = error_set(err, STATUS_FAILED, "cannot make a reduction tree: more than %d levels",
                       REDUCTION_TREE_MAX_DEPTH);
out:
    free(filled);
    if (rc != STATUS_OK) reduction_tree_release(t);
    return rc;
}

void reduction_tree_release(reduction_tree *t) {
    free(t->nodes);
    free(t->leaf_node);
    *t = (reduction_tree){0};
}

// ---- Parts of a tree ----

// The largest subtree that begins at leaf `first` and ends at or before `end`.
static int subtree(const reduction_tree *t, int first, int end) {
    int node = t->count - 1;
    while (t->nodes[node].first != first || t->nodes[node].end > end) {
        const int left = t->nodes[node].left;
        node = first < t->nodes[left].end ? left : t->nodes[node].right;
    }
    return node;
}

int reduction_tree_cover(const reduction_tree *t, int first, int end, int *nodes) {
    int count = 0;
    while (first < end) {
        nodes[count] = subtree(t, first, end);
        first = t->nodes[nodes[count++]].end;
    }
    return count;
}

// The parent of `node` if `node` is a right child, else -1. In post-order a right child is followed
// by its parent, and any other node by a leaf or nothing.
static int parent_of_right(const reduction_tree *t, int node) {
    return node + 1 < t->count && t->nodes[node + 1].right == node ? node + 1 : -1;
}

int reduction_tree_merges(const reduction_tree *t, int first, int end, int leaf) {
    if (leaf < first || leaf >= end) return 0;
    int merges = 0;
    int node = parent_of_right(t, t->leaf_node[leaf]);
    for (; node >= 0 && t->nodes[node].first >= first; node = parent_of_right(t, node)) merges++;
    return merges;
}

int reduction_tree_node_merges(const reduction_tree *t, int node) {
    int merges = 0;
    while ((node = parent_of_right(t, node)) >= 0) merges++;
    return merges;
}

// The most maximal subtrees into which a range of leaves can fall.
typedef struct pieces {
    int prefix, suffix; // a range at the beginning or the end, but not all leaves
    int most;           // any range that ends before the last leaf
} pieces;

static int larger(int a, int b) {
    return a > b ? a : b;
}

static pieces count_pieces(const reduction_tree *t, int node) {
    if (t->nodes[node].left < 0) return (pieces){0, 0, 0};
    const pieces l = count_pieces(t, t->nodes[node].left);
    const pieces r = count_pieces(t, t->nodes[node].right);
    return (pieces){
        .prefix = larger(l.prefix, 1 + r.prefix),
        .suffix = larger(r.suffix, 1 + l.suffix),
        .most = larger(larger(l.most, r.most), larger(l.suffix, 1) + r.prefix),
    };
}

int reduction_tree_stack(const reduction_tree *t) {
    // The pending sums, and the next leaf.
    return t->count ? count_pieces(t, t->count - 1).most + 1 : 0;
}

// ---- Sums ----

// Four floats: a register on every processor that matters. Compilers do not vectorise plain loops
// over arrays that may overlap.
typedef float quad __attribute__((vector_size(16)));

void reduction_add(const float *a, const float *b, float *out, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        quad x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        x += y;
        memcpy(out + i, &x, sizeof x);
    }
    for (; i < n; i++) out[i] = a[i] + b[i];
}

// Sums that wait for the one on their right, lowest first: never more than the depth of the tree.
typedef struct pending {
    int node[REDUCTION_TREE_MAX_DEPTH + 1];
    const float *sum[REDUCTION_TREE_MAX_DEPTH + 1]; // a term's own floats, or this level's
    float level[REDUCTION_TREE_MAX_DEPTH][BLOCK];
    int count;
} pending;

// Adds the two topmost sums as long as they are the children of one node. The sum of `root` goes to
// `out`, and nothing before it, because `out` may be a term that is still needed.
static void merge(const reduction_tree *t, int root, pending *p, float *out, size_t n) {
    while (p->count >= 2) {
        const int a = p->count - 2, b = p->count - 1;
        const int parent = parent_of_right(t, p->node[b]);
        if (parent < 0 || t->nodes[parent].left != p->node[a]) return;
        float *to = parent == root ? out : p->level[a];
        reduction_add(p->sum[a], p->sum[b], to, n);
        p->node[a] = parent;
        p->sum[a] = to;
        p->count--;
    }
}

static void sum_blocks(const reduction_tree *t, int root, const int *cover,
                       const float *const *term, int terms, size_t first, float *out, size_t n) {
    pending p;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t length = n - i < BLOCK ? n - i : BLOCK;
        p.count = 0;
        for (int k = 0; k < terms; k++) {
            p.node[p.count] = cover[k];
            p.sum[p.count++] = term[k] + first + i;
            merge(t, root, &p, out + i, length);
        }
    }
}

void reduction_tree_sum_part(const reduction_tree *t, int node, const int *cover,
                             const float *const *term, int terms, size_t first, float *out,
                             size_t n) {
    if (n == 0) return;
    if (terms == 0)
        memset(out, 0, n * sizeof *out);
    else if (terms == 1)
        memmove(out, term[0] + first, n * sizeof *out);
    else if (terms == 2)
        reduction_add(term[0] + first, term[1] + first, out, n);
    else
        sum_blocks(t, node, cover, term, terms, first, out, n);
}

void reduction_tree_sum(const reduction_tree *t, const int *cover, const float *const *term,
                        int terms, float *out, size_t n) {
    reduction_tree_sum_part(t, t->count - 1, cover, term, terms, 0, out, n);
}
