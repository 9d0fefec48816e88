// SPDX-License-Identifier: MIT
#include "compute/cpu/gradients.h"

#include <stdlib.h>
#include <string.h>

#include "compute/cpu/take.h"
#include "compute/plan/slices.h"
#include "compute/plan/units.h"

// ---- Memory ----

static status take_stack(const gradients *g, int thread, int count, size_t *taken, error *err) {
    for (int i = 0; i < count; i++)
        if (!g->stacks[thread][i]) TAKE(g->stacks[thread][i], g->floats);
    return STATUS_OK;
}

// Parts of a stage differ in their leaves: it has all memory of its stacks at once.
static status take_stacks(gradients *g, bool stage, size_t *taken, error *err) {
    TAKE(g->stacks, (size_t)g->members);
    for (int t = 0; t < g->members; t++) {
        TAKE(g->stacks[t], (size_t)g->stack);
        if (stage && take_stack(g, t, g->stack, taken, err) != STATUS_OK) return STATUS_FAILED;
    }
    return STATUS_OK;
}

// One gradient buffer for each node of the widest cover of the local leaves: a single one if all
// leaves are local. A stage keeps those of each range: a cover has at most a node per shard.
static int widest_cover(const engine_options *o, const ownership *owners) {
    if (o->stage) return o->shards;
    return o->local_shards == o->shards ? 1 : owners->cover;
}

status gradients_init(gradients *g, const program *p, const engine_options *options,
                      const ownership *o, size_t *taken, error *err) {
    const size_t terms = (size_t)o->room * (size_t)o->cover;
    *g = (gradients){.floats = gradient_floats(p),
                     .parameters = p->parameters,
                     .own_end = p->parameters,
                     .members = o->room,
                     .stack = o->stack,
                     .room = widest_cover(options, o)};
    if (options->stage) units_own_part(p, &g->own_first, &g->own_end);
    TAKE(g->terms_node, terms);
    TAKE(g->terms, terms);
    TAKE(g->cover, (size_t)g->room);
    TAKE(g->buffers, (size_t)g->room);
    for (int i = 0; i < g->room; i++) TAKE(g->buffers[i], g->floats);
    // A single gradient buffer is already the sum and needs no second buffer.
    if (g->room == 1)
        g->reduced = g->buffers[0];
    else
        TAKE(g->reduced, g->floats);
    return take_stacks(g, options->stage, taken, err);
}

void gradients_release(gradients *g) {
    if (g->buffers && g->reduced != g->buffers[0]) free(g->reduced);
    for (int i = 0; g->buffers && i < g->room; i++) free(g->buffers[i]);
    for (int t = 0; g->stacks && t < g->members; t++) {
        for (int i = 0; g->stacks[t] && i < g->stack; i++) free(g->stacks[t][i]);
        free(g->stacks[t]);
    }
    free(g->buffers);
    free(g->stacks);
    free(g->cover);
    free(g->terms);
    free(g->terms_node);
}

status gradients_fit(gradients *g, const ownership *o, size_t *taken, error *err) {
    status rc = STATUS_OK;
    for (int t = 0; t < o->threads && rc == STATUS_OK; t++)
        rc = take_stack(g, t, ownership_stack_needed(o, t), taken, err);
    return rc;
}

// ---- From the threads to the engine ----

void gradients_assign(gradients *g, const ownership *o) {
    g->term_count = 0;
    g->threads = o->threads;
    for (int t = 0; t < g->threads; t++) {
        const leaf_range own = o->leaves[t];
        int n = reduction_tree_cover(&o->tree, own.first, own.end, g->terms_node + g->term_count);
        for (int k = 0; k < n; k++) g->terms[g->term_count + k] = g->stacks[t][k];
        g->term_count += n;
    }
    g->first = o->run_first == 0 ? 0 : g->end;
    g->end =
        g->first + reduction_tree_cover(&o->tree, o->run.first, o->run.end, g->cover + g->first);
}

// Each thread sums its slice of the terms.
static void add_terms(gradients *g, const reduction_tree *tree, int member) {
    const float_range own = slice_floats((op_slice){member, g->threads}, g->floats);
    for (int k = g->first, t = 0; k < g->end; k++) {
        const int last = tree->nodes[g->cover[k]].end, start = t;
        while (t < g->term_count && tree->nodes[g->terms_node[t]].end <= last) t++;
        reduction_tree_sum_part(tree, g->cover[k], g->terms_node + start,
                                (const float *const *)g->terms + start, t - start, own.first,
                                g->buffers[k] + own.first, own.end - own.first);
    }
}

// If there is a single gradient buffer, from one thread, the thread and the engine swap buffers.
// Returns false if there are more.
static bool hand_over(gradients *g, int member) {
    if (g->term_count != 1 || g->end - g->first != 1) return false;
    if (member != 0) return true;
    for (int t = 0; t < g->threads; t++) {
        float **buffer = &g->buffers[g->first], *brought = g->stacks[t][0];
        if (brought != g->terms[0]) continue;
        if (g->reduced == *buffer) g->reduced = brought;
        g->stacks[t][0] = g->terms[0] = *buffer;
        *buffer = brought;
        break;
    }
    return true;
}

void gradients_join(gradients *g, const reduction_tree *tree, int member) {
    if (!hand_over(g, member)) add_terms(g, tree, member);
}

// ---- From engines to the reduced gradient buffer ----

typedef struct sum_terms {
    int count;
    int *node; // of the tree
    const float **vector;
} sum_terms;

static sum_terms list_terms(const gradients *const *engines, int count) {
    sum_terms t = {.count = 0};
    size_t room = 0;
    for (int i = 0; i < count; i++) room += (size_t)engines[i]->end;
    t.node = memory_new(room, sizeof *t.node);
    t.vector = memory_new(room, sizeof *t.vector);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->end; k++) {
            t.node[t.count] = engines[i]->cover[k];
            t.vector[t.count++] = engines[i]->buffers[k];
        }
    return t;
}

static void sum_along_tree(const gradients *g, const reduction_tree *tree, const sum_terms *t,
                           size_t first, size_t end) {
    reduction_tree_sum_part(tree, tree->count - 1, t->node, t->vector, t->count, first,
                            g->reduced + first, end - first);
}

// The usual way: one engine after another.
static void sum_in_order(const gradients *g, const sum_terms *t) {
    memmove(g->reduced, t->vector[0], g->floats * sizeof *g->reduced);
    for (int k = 1; k < t->count; k++)
        reduction_add(g->reduced, t->vector[k], g->reduced, g->floats);
}

void gradients_reduce(const gradients *const *engines, int count, const reduction_tree *tree,
                      bool exact) {
    const gradients *g = engines[0];
    const sum_terms t = list_terms(engines, count);
    if (!exact) {
        sum_in_order(g, &t);
    } else if (t.count != 1 || t.vector[0] != g->reduced) {
        sum_along_tree(g, tree, &t, g->own_first, g->own_end);
        sum_along_tree(g, tree, &t, g->parameters, g->floats);
    }
    free(t.node);
    free(t.vector);
}
