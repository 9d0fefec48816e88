// SPDX-License-Identifier: MIT
// A training step and inference, as each thread of the team runs them.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cpu/engine.h"

// Of a superstep, the parts that it writes.
static void merge_top(const engine *e, const team_member *m, const superstep *s, int top) {
    const step_plan *p = &e->training.steps;
    const operation *first = &p->operations[s->first], *last = &p->operations[s->end - 1];
    for (int i = first->first_range; i < last->end_range; i++) {
        const gradient_range r = p->ranges[i];
        e->kernels->add(m->stack[top - 1] + r.first, m->stack[top] + r.first, r.count);
    }
}

static group_work work_of(engine *e, int member, int leaf) {
    team_member *m = &e->members[member];
    const int index = leaf - e->first_leaf;
    const group *g = &e->groups[index];
    return (group_work){.e = e,
                        .member = m,
                        .group = g,
                        .next = leaf + 1 < m->end_leaf ? g + 1 : NULL,
                        .index = index,
                        .samples = g->samples,
                        .pixels = e->batch->pixels + g->first,
                        .memory =
                            engine_slot(e, (size_t)(engine_shares_slots(e) ? member : index))};
}

// A chunk ends with a leaf after which sums are added up: the next leaf may reuse their vectors.
static void run_superstep(engine *e, int member, int number) {
    team_member *m = &e->members[member];
    const superstep *s = &e->training.steps.supersteps[number];
    const superstep_needs *needs = &e->training.needs[number];
    group_work chunk[CHUNK];
    int top = -1, count = 0;
    for (int leaf = m->first_leaf; leaf < m->end_leaf; leaf++) {
        int merges = reduction_tree_merges(&e->tree, m->first_leaf, m->end_leaf, leaf);
        if (merges == 0) top++;
        group_work *w = &chunk[count];
        *w = work_of(e, member, leaf);
        w->gradients = m->stack[top];
        w->accumulate = merges > 0; // the first merge happens inside the kernels
        w->added = m->added + (size_t)count * needs->added;
        w->values = m->values + (size_t)count * needs->values;
        if (++count < needs->chunk && merges < 2 && w->next) continue;
        operations_run(chunk, count, &e->training, s->first, s->end);
        count = 0;
        if (merges < 2) continue; // nothing to add, so no time to account for
        for (; merges > 1; merges--, top--) merge_top(e, m, s, top);
        member_mark(m, PHASE_BACKWARD);
    }
}

// Each thread sums its slice of the threads' vectors into the gradient buffers of the engine's own
// cover.
static void join_gradients(engine *e, int member) {
    const size_t n = gradient_floats(e->program), members = (size_t)team_size(e->team);
    const size_t lines = (n + GROUP - 1) / GROUP;
    const size_t first = lines * (size_t)member / members * GROUP;
    size_t end = lines * ((size_t)member + 1) / members * GROUP;
    if (end > n) end = n;
    for (int k = e->gradients_first, t = 0; k < e->gradients_end; k++) {
        const int last = e->tree.nodes[e->cover[k]].end, start = t;
        while (t < e->term_count && e->tree.nodes[e->terms_node[t]].end <= last) t++;
        reduction_tree_sum_part(&e->tree, e->cover[k], e->terms_node + start,
                                (const float *const *)e->terms + start, t - start, first,
                                e->gradients[k] + first, end - first);
    }
}

// If there is a single gradient buffer, from one thread, the thread and the engine swap buffers.
// Returns false if there are more.
static bool hand_over(engine *e, int member) {
    if (e->term_count != 1 || e->gradients_end - e->gradients_first != 1) return false;
    if (member != 0) return true;
    for (int t = 0; t < team_size(e->team); t++) {
        team_member *m = &e->members[t];
        if (m->stack[0] != e->terms[0]) continue;
        float **gradients = &e->gradients[e->gradients_first], *brought = m->stack[0];
        if (e->reduced == *gradients) e->reduced = brought;
        m->stack[0] = e->terms[0] = *gradients;
        *gradients = brought;
        break;
    }
    return true;
}

// For an engine that has the filters of one superstep at a time.
static void transform_filters(engine *e, int member, const superstep *s) {
    if (!e->filters_by_superstep) return;
    filters_transform(e, &e->training, s->first, s->end, member);
    member_mark(&e->members[member], operation_phase(&e->training.steps.operations[s->end - 1]));
}

// The operation that joins the groups after a superstep, and the filters of the next one: from here
// on no thread reads those of this one.
static bool join_groups(engine *e, int member, const superstep *s) {
    if (!s->joins) return true;
    const operation *op = &e->training.steps.operations[s->end];
    team_barrier(e->team);
    member_mark(&e->members[member], PHASE_WAIT);
    transform_filters(e, member, s + 1);
    if (op->kind == OP_NORM) return batch_norm_forward(e, engine_unit(e, op), member);
    if (op->kind == OP_NORM_BACKWARD) return batch_norm_backward(e, engine_unit(e, op), member);
    team_barrier(e->team);
    return true;
}

static void step_body(void *argument, int member) {
    engine *e = argument;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const step_plan *p = &e->training.steps;
    transform_filters(e, member, &p->supersteps[e->first_superstep]);
    if (e->filters_by_superstep) team_barrier(e->team);
    for (int i = e->first_superstep; i < e->end_superstep; i++) {
        run_superstep(e, member, i);
        const bool well = join_groups(e, member, &p->supersteps[i]);
        member_mark(m, PHASE_WAIT);
        if (!well) return;
    }
    if (e->end_superstep < p->superstep_count) return;
    team_barrier(e->team);
    member_mark(m, PHASE_WAIT);
    if (!hand_over(e, member)) join_gradients(e, member);
    member_mark(m, PHASE_BACKWARD);
}

// The ranges of a step are adjacent, so that each has gradient buffers of its own.
static status take_part(engine *e, const run_part *part, error *err) {
    const int shards = e->counts_end - e->counts_first, expected = e->part.end_shard;
    const bool all = part->first_shard == 0 && part->end_shard == shards;
    const bool next = part->first_shard == 0 || part->first_shard == expected;
    if (!next || part->end_shard > shards || (!e->options.stage && !all))
        return error_set(err, STATUS_FAILED,
                         "cannot run shards %d to %d of %d: they do not follow the earlier ones",
                         part->first_shard, part->end_shard, shards);
    ownership_assign(e, part->first_shard, part->end_shard);
    e->part = *part;
    return STATUS_OK;
}

status cpu_run(engine *e, const batch *b, const run_part *part, error *err) {
    const step_plan *p = &e->training.steps;
    status rc;
    TRY(step_plan_check_part(&e->options, part, err));
    TRY(ownership_prepare(e, b, err));
    if (b->frozen != e->frozen) engine_freeze(e, b->frozen);
    e->batch = b;
    if (part) TRY(take_part(e, part, err));
    e->first_superstep = part && part->backward ? p->backward_superstep : 0;
    e->end_superstep = part && !part->backward ? p->backward_superstep : p->superstep_count;
    e->failed = STATUS_OK;
    e->failure = err;
    engine_region(e, step_body);
    rc = e->failed;
out:
    return rc;
}

// ---- The sum of gradient buffers ----

typedef struct sum_terms {
    int count;
    int *node; // of the tree
    const float **vector;
} sum_terms;

static sum_terms list_terms(engine *const *engines, int count) {
    sum_terms t = {.count = 0};
    size_t room = 0;
    for (int i = 0; i < count; i++) room += (size_t)engines[i]->gradients_end;
    t.node = memory_new(room, sizeof *t.node);
    t.vector = memory_new(room, sizeof *t.vector);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->gradients_end; k++) {
            t.node[t.count] = engines[i]->cover[k];
            t.vector[t.count++] = engines[i]->gradients[k];
        }
    return t;
}

static void sum_along_tree(const engine *e, const sum_terms *t, size_t first, size_t end) {
    reduction_tree_sum_part(&e->tree, e->tree.count - 1, t->node, t->vector, t->count, first,
                            e->reduced + first, end - first);
}

// The usual way: one engine after another.
static void sum_in_order(const sum_terms *t, float *out, size_t n) {
    memmove(out, t->vector[0], n * sizeof *out);
    for (int k = 1; k < t->count; k++) reduction_add(out, t->vector[k], out, n);
}

status cpu_reduce(engine *const *engines, int count, bool exact, error *err) {
    const engine *e = engines[0];
    const size_t n = gradient_floats(e->program);
    const sum_terms t = list_terms(engines, count);
    (void)err;
    if (!exact) {
        sum_in_order(&t, e->reduced, n);
    } else if (t.count != 1 || t.vector[0] != e->reduced) {
        sum_along_tree(e, &t, e->own_first, e->own_end);
        sum_along_tree(e, &t, e->program->parameters, n);
    }
    free(t.node);
    free(t.vector);
    return STATUS_OK;
}

// ---- Inference ----

static void store_logits(const group_work *g, const unit *last, float *logits) {
    const float *z = g->memory + last->z.offset;
    const int classes = g->e->program->classes, lanes = g->e->kernels->lanes;
    for (int n = 0; n < g->samples; n++)
        for (int j = 0; j < classes; j++) logits[n * classes + j] = z[j * lanes + n];
}

static void infer_body(void *argument, int member) {
    engine *e = argument;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const superstep *s = &e->inference.steps.supersteps[0];
    if (e->filters_by_superstep && e->inference_is_old) {
        filters_transform(e, &e->inference, s->first, s->end, member);
        team_barrier(e->team);
    }
    const size_t threads = (size_t)team_size(e->team), lanes = (size_t)e->kernels->lanes;
    for (size_t first = (size_t)member * lanes; first < e->infer_samples;
         first += threads * lanes) {
        const size_t left = e->infer_samples - first;
        const group_work work = {.e = e,
                                 .member = m,
                                 .samples = (int)(left < lanes ? left : lanes),
                                 .pixels = e->infer_pixels + first,
                                 .memory = engine_slot(e, (size_t)member),
                                 .values = m->values};
        operations_run(&work, 1, &e->inference, s->first, s->end);
        store_logits(&work, &e->placement.units[e->placement.list.count - 1],
                     e->infer_logits + first * (size_t)e->program->classes);
    }
    member_mark(m, PHASE_FORWARD);
}

status cpu_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err) {
    if (engine_take_filters(e, err) != STATUS_OK) return STATUS_FAILED;
    batch_norm_inference(e);
    e->infer_pixels = pixels;
    e->infer_samples = samples;
    e->infer_logits = logits;
    engine_region(e, infer_body);
    e->inference_is_old = false;
    return STATUS_OK;
}
