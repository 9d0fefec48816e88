// SPDX-License-Identifier: MIT
#include "compute/cpu/ownership.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cpu/take.h"
#include "compute/plan/slices.h"

// Measures the needs of the largest step; no step with fewer samples needs more.
static status measure_tree(ownership *o, int shard_groups, error *err) {
    for (int v = 0; v < o->shards; v++) o->shard_groups[v] = shard_groups;
    NEED(reduction_tree_init(&o->tree, o->shard_groups, o->shards, err));
    o->stack = reduction_tree_stack(&o->tree);
    o->cover = 2 * o->tree.depth;
    reduction_tree_release(&o->tree);
    return STATUS_OK;
}

static int groups_of_shard(const engine_options *options) {
    return (options->shard_samples + GROUP - 1) / GROUP;
}

int ownership_threads(const engine_options *options) {
    const int groups = options->local_shards * groups_of_shard(options), cores = options->cores;
    const int most = groups > cores ? groups : cores;
    return cores > 0 && most < options->threads ? most : options->threads;
}

status ownership_init(ownership *o, const engine_options *options, size_t *taken, error *err) {
    const int shard_groups = groups_of_shard(options);
    const size_t shards = (size_t)options->shards;
    *o = (ownership){.shards = options->shards,
                     .room = options->threads,
                     .threads = options->threads,
                     .cores = options->cores,
                     .capacity = options->local_shards * shard_groups};
    TAKE(o->groups, (size_t)o->capacity);
    TAKE(o->shard_groups, shards);
    TAKE(o->shard_leaves, shards + 1);
    TAKE(o->counts, shards);
    TAKE(o->leaves, (size_t)o->room);
    TAKE(o->crews, (size_t)o->room);
    return measure_tree(o, shard_groups, err);
}

void ownership_release(ownership *o) {
    void *own[] = {o->groups, o->shard_groups, o->shard_leaves, o->counts, o->leaves, o->crews};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    reduction_tree_release(&o->tree);
}

static bool same_counts(const ownership *o, const batch *b) {
    return o->tree.nodes && b->first_shard == o->first_shard && b->end_shard == o->end_shard &&
           memcmp(o->counts, b->count, (size_t)b->shards * sizeof *b->count) == 0;
}

static void list_groups(ownership *o, const batch *b) {
    int first = 0, n = 0;
    for (int v = b->first_shard; v < b->end_shard; v++)
        for (int done = 0; done < b->count[v]; done += GROUP, n++) {
            int left = b->count[v] - done;
            o->groups[n] = (group){.shard = v - b->first_shard,
                                   .samples = left < GROUP ? left : GROUP,
                                   .first = first,
                                   .leads = done == 0};
            first += o->groups[n].samples;
        }
    o->count = n;
}

// What each further thread of a crew adds to the time of all, as a part of the work of one: slices
// are not equal, and what one thread writes the next one reads from another core's cache. Threads
// also share groups of which there are enough, if that gains more: 64 images on three threads.
static const double SHARING = 0.15;

static double speed_of(int size) {
    return size / (1 + SHARING * (size - 1));
}

int ownership_crews(int groups, int threads) {
    int best = threads;
    double least = INFINITY;
    for (int crews = threads; crews >= 1; crews--) {
        const int size = threads / crews, most = (groups + crews - 1) / crews;
        const double time = most / speed_of(size);
        if (crews > groups || time >= least) continue;
        least = time;
        best = crews;
    }
    return best;
}

// The threads that may share groups.
static int workers_of(const ownership *o) {
    return o->cores > 0 && o->cores < o->threads ? o->cores : o->threads;
}

// Without a gain, all threads have groups of their own, or none.
static int assigned_crews(const ownership *o, int groups) {
    if (o->rest > 0) return o->threads;
    const int workers = workers_of(o), crews = ownership_crews(groups, workers);
    return crews < workers ? crews : o->threads;
}

void ownership_assign(ownership *o, int first, int end) {
    const int first_leaf = o->shard_leaves[o->first_shard + first];
    const int leaves = o->shard_leaves[o->first_shard + end] - first_leaf;
    o->run_first = first;
    o->run_end = end;
    o->run = (leaf_range){first_leaf, first_leaf + leaves};
    const int crews = assigned_crews(o, leaves);
    const int threads = crews < o->threads ? workers_of(o) : o->threads;
    o->mates = threads - crews;
    for (int t = 0; t < o->threads; t++) {
        o->leaves[t] = (leaf_range){o->run.end, o->run.end};
        o->crews[t] = (crew){t, 1, false};
    }
    for (int i = 0; i < crews; i++) {
        const slice_range own = slice_of((op_slice){i, crews}, threads);
        const slice_range part = slice_of((op_slice){i, crews}, leaves);
        for (int t = own.first; t < own.end; t++) {
            o->crews[t] = (crew){own.first, own.end - own.first, o->cores > 0};
            o->leaves[t] = (leaf_range){first_leaf + part.end, first_leaf + part.end};
        }
        o->leaves[own.first].first = first_leaf + part.first;
    }
}

enum { FIRST_REST = 16, LONGEST_REST = 1024 };

static int rest_after(int rest) {
    return rest == 0 ? FIRST_REST : rest < LONGEST_REST ? 2 * rest : LONGEST_REST;
}

// Of n threads that share all work, each computes 1/n of it. If they sleep for more than the rest
// of the time, one of them would have been faster alone.
void ownership_shared(ownership *o, uint64_t slept, uint64_t ns) {
    if (o->rest > 0) {
        if (--o->rest == 0) o->other_crews = true;
    } else if (o->cores > 0 && slept > (uint64_t)o->mates * ns) {
        o->next_rest = rest_after(o->next_rest);
        o->rest = o->next_rest;
        o->other_crews = true;
    } else {
        o->next_rest /= 2;
    }
}

void ownership_forget(ownership *o) {
    reduction_tree_release(&o->tree);
}

// Tree, groups and their owners depend only on the sample counts, so most steps reuse those of the
// previous step.
status ownership_fit(ownership *o, const batch *b, bool *changed, error *err) {
    const int threads = b->threads > 0 && b->threads < o->room ? b->threads : o->room;
    *changed = o->other_crews || threads != o->threads || !same_counts(o, b);
    if (!*changed) return STATUS_OK;
    o->other_crews = false;
    o->threads = threads;
    int leaves = 0, local = 0;
    for (int v = 0; v < b->shards; v++) {
        o->shard_leaves[v] = leaves;
        o->shard_groups[v] = (b->count[v] + GROUP - 1) / GROUP;
        leaves += o->shard_groups[v];
        if (v >= b->first_shard && v < b->end_shard) local += o->shard_groups[v];
    }
    o->shard_leaves[b->shards] = leaves;
    if (b->shards != o->shards || local > o->capacity)
        return error_set(err, STATUS_FAILED,
                         "batch of %d shards with %d groups here does not fit the engine",
                         b->shards, local);
    reduction_tree_release(&o->tree);
    if (reduction_tree_init(&o->tree, o->shard_groups, b->shards, err) != STATUS_OK)
        return STATUS_FAILED;
    memcpy(o->counts, b->count, (size_t)b->shards * sizeof *b->count);
    o->first_shard = b->first_shard;
    o->end_shard = b->end_shard;
    o->first_leaf = o->shard_leaves[b->first_shard];
    list_groups(o, b);
    ownership_assign(o, 0, ownership_local_shards(o));
    return STATUS_OK;
}

int ownership_stack_needed(const ownership *o, int thread) {
    const leaf_range own = o->leaves[thread];
    int top = 0, most = 0;
    for (int leaf = own.first; leaf < own.end; leaf++) {
        const int merges = reduction_tree_merges(&o->tree, own.first, own.end, leaf);
        top += merges == 0 ? 1 : 1 - merges;
        if (merges == 0 && top > most) most = top;
    }
    return most;
}

int ownership_samples(const ownership *o) {
    int n = 0;
    for (int v = 0; v < o->shards; v++) n += o->counts[v];
    return n;
}
