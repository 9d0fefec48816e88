// SPDX-License-Identifier: MIT
// Ownership of groups in a step: the leaves of the reduction tree are distributed over the threads
// in contiguous ranges.
#include <string.h>

#include "compute/cpu/engine.h"

static bool same_counts(const engine *e, const batch *b) {
    return e->tree.nodes && b->first_shard == e->counts_first && b->end_shard == e->counts_end &&
           memcmp(e->counts, b->count, (size_t)b->shards * sizeof *b->count) == 0;
}

static void list_groups(engine *e, const batch *b) {
    int first = 0, n = 0;
    for (int v = b->first_shard; v < b->end_shard; v++)
        for (int done = 0; done < b->count[v]; done += GROUP, n++) {
            int left = b->count[v] - done;
            e->groups[n] = (group){.shard = v - b->first_shard,
                                   .samples = left < GROUP ? left : GROUP,
                                   .first = first,
                                   .leads = done == 0};
            first += e->groups[n].samples;
        }
    e->group_count = n;
}

// The most sums of a thread that wait at once, while it processes its leaves in order.
static int stack_needed(const reduction_tree *tree, int first, int end) {
    int top = 0, most = 0;
    for (int leaf = first; leaf < end; leaf++) {
        const int merges = reduction_tree_merges(tree, first, end, leaf);
        top += merges == 0 ? 1 : 1 - merges;
        if (merges == 0 && top > most) most = top;
    }
    return most;
}

// Parts of a stage differ in their leaves; it has all of its memory.
static status take_stacks(engine *e, const batch *b, error *err) {
    const int threads = team_size(e->team);
    const int leaves = e->shard_leaves[b->end_shard] - e->first_leaf;
    for (int t = 0; t < threads && !e->options.stage; t++) {
        const int first = e->first_leaf + leaves * t / threads;
        const int end = e->first_leaf + leaves * (t + 1) / threads;
        const status rc =
            engine_take_stack(e, &e->members[t], stack_needed(&e->tree, first, end), err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

void ownership_assign(engine *e, int first, int end) {
    const int threads = team_size(e->team);
    const int first_leaf = e->shard_leaves[e->counts_first + first];
    const int leaves = e->shard_leaves[e->counts_first + end] - first_leaf;
    e->part.first_shard = first;
    e->part.end_shard = end;
    e->term_count = 0;
    for (int t = 0; t < threads; t++) {
        team_member *m = &e->members[t];
        m->first_leaf = first_leaf + leaves * t / threads;
        m->end_leaf = first_leaf + leaves * (t + 1) / threads;
        int n = reduction_tree_cover(&e->tree, m->first_leaf, m->end_leaf,
                                     e->terms_node + e->term_count);
        for (int k = 0; k < n; k++) e->terms[e->term_count + k] = m->stack[k];
        e->term_count += n;
    }
    e->gradients_first = first == 0 ? 0 : e->gradients_end;
    e->gradients_end =
        e->gradients_first + reduction_tree_cover(&e->tree, first_leaf, first_leaf + leaves,
                                                  e->cover + e->gradients_first);
}

// Tree, groups and their owners depend only on the sample counts, so most steps reuse those of the
// previous step.
status ownership_prepare(engine *e, const batch *b, error *err) {
    if (same_counts(e, b)) return STATUS_OK;
    int leaves = 0, local = 0;
    for (int v = 0; v < b->shards; v++) {
        e->shard_leaves[v] = leaves;
        e->shard_groups[v] = (b->count[v] + GROUP - 1) / GROUP;
        leaves += e->shard_groups[v];
        if (v >= b->first_shard && v < b->end_shard) local += e->shard_groups[v];
    }
    e->shard_leaves[b->shards] = leaves;
    if (b->shards != e->options.shards || local > e->group_capacity)
        return error_set(err, STATUS_FAILED,
                         "batch of %d shards with %d groups here does not fit the engine",
                         b->shards, local);
    reduction_tree_release(&e->tree);
    if (reduction_tree_init(&e->tree, e->shard_groups, b->shards, err) != STATUS_OK)
        return STATUS_FAILED;
    memcpy(e->counts, b->count, (size_t)b->shards * sizeof *b->count);
    e->counts_first = b->first_shard;
    e->counts_end = b->end_shard;
    e->first_leaf = e->shard_leaves[b->first_shard];
    list_groups(e, b);
    if (take_stacks(e, b, err) != STATUS_OK) {
        reduction_tree_release(&e->tree); // or the next step would find it
        return STATUS_FAILED;
    }
    ownership_assign(e, 0, b->end_shard - b->first_shard);
    return STATUS_OK;
}
