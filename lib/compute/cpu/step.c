// SPDX-License-Identifier: MIT
// A training step and inference, as each thread of the team runs them.
#include <stdatomic.h>
#include <string.h>

#include "compute/cpu/batch_norm.h"
#include "compute/cpu/cpu_engine.h"
#include "compute/cpu/operations.h"
#include "compute/cpu/packing.h"
#include "compute/cpu/take.h"

// ---- A superstep ----

static float *slot(const engine *e, size_t number) {
    return (float *)(e->slots.base + number * e->slots.bytes);
}

// Of a superstep, the parts that it writes.
static void merge_top(const engine *e, float *const *stack, const superstep *s, int top,
                      op_slice own) {
    const step_plan *p = &e->training.steps;
    const operation *first = &p->operations[s->first], *last = &p->operations[s->end - 1];
    for (int i = first->first_range; i < last->end_range; i++) {
        const gradient_range r = p->ranges[i];
        const size_t at = r.first + slice_floats(own, r.count).first;
        const size_t end = r.first + slice_floats(own, r.count).end;
        e->execution.kernels->add(stack[top - 1] + at, stack[top] + at, end - at);
    }
}

// A member has images of its own for one group. A crew that has several loads them once.
static float *images_of(const engine *e, int member, float *memory) {
    const crew c = e->ownership.crews[member];
    const leaf_range own = e->ownership.leaves[c.first];
    const bool has_own = e->members[member].images && c.size > 1 && own.end - own.first == 1;
    return has_own ? e->members[member].images : memory;
}

static group_work work_of(const engine *e, int member, int leaf) {
    const execution *x = &e->execution;
    const int index = leaf - e->ownership.first_leaf;
    const group *g = &e->ownership.groups[index];
    const crew c = e->ownership.crews[member];
    float *memory = slot(e, (size_t)(x->placement.shares_slots ? c.first : index));
    return (group_work){.e = x,
                        .member = &e->members[member],
                        .mates = &e->members[c.first],
                        .team = e->team,
                        .crew = c,
                        .slice = SLICE_WHOLE,
                        .group = g,
                        .next = leaf + 1 < e->ownership.leaves[c.first].end ? g + 1 : NULL,
                        .index = index,
                        .samples = g->samples,
                        .pixels = x->batch->pixels + g->first,
                        .memory = memory,
                        .images = images_of(e, member, memory)};
}

// A chunk ends with a leaf after which sums are added up: the next leaf may reuse their vectors.
static void run_superstep(const engine *e, int member, int number) {
    const crew c = e->ownership.crews[member];
    team_member *m = &e->members[member], *lead = &e->members[c.first];
    const leaf_range own = e->ownership.leaves[c.first];
    const superstep *s = &e->training.steps.supersteps[number];
    const superstep_needs *needs = &e->training.needs[number];
    float *const *stack = e->gradients.stacks[c.first];
    group_work chunk[CHUNK];
    int top = -1, count = 0;
    for (int leaf = own.first; leaf < own.end; leaf++) {
        int merges = reduction_tree_merges(&e->ownership.tree, own.first, own.end, leaf);
        if (merges == 0) top++;
        group_work *w = &chunk[count];
        *w = work_of(e, member, leaf);
        w->gradients = stack[top];
        w->accumulate = merges > 0; // the first merge happens inside the kernels
        w->added = lead->added + (size_t)count * needs->added;
        w->values = lead->values + (size_t)count * needs->values;
        if (++count < needs->chunk && merges < 2 && w->next) continue;
        operations_run(chunk, count, &e->training, s->first, s->end);
        count = 0;
        if (w->next || merges > 1) team_meet(e->team, c);
        if (merges < 2) continue; // nothing to add, so no time to account for
        for (; merges > 1; merges--, top--) merge_top(e, stack, s, top, group_slice(w));
        member_mark(m, PHASE_BACKWARD);
        if (w->next) team_meet(e->team, c);
    }
}

// For a plan that has the filters of one superstep at a time.
static void transform_filters(const engine *e, int member, const superstep *s) {
    if (!e->training.by_superstep) return;
    packing_transform(&e->execution, &e->training, s->first, s->end, member);
    member_mark(&e->members[member], operation_phase(&e->training.steps.operations[s->end - 1]));
}

// The operation that joins the groups after a superstep, and the filters of the next one: from here
// on no thread reads those of this one.
static bool join_groups(engine *e, int member, const superstep *s) {
    if (!s->joins) return true;
    const operation *op = &e->training.steps.operations[s->end];
    const norm_step n = {&e->execution, &e->ownership, e->team, unit_of(&e->execution, op), member};
    team_barrier(e->team);
    member_mark(&e->members[member], PHASE_WAIT);
    transform_filters(e, member, s + 1);
    if (op->kind == OP_NORM) return batch_norm_forward(&n);
    if (op->kind == OP_NORM_BACKWARD) return batch_norm_backward(&n);
    team_barrier(e->team);
    return true;
}

// ---- A step ----

typedef struct step_run { // supersteps [first, end)
    engine *e;
    int first, end;
} step_run;

static void step_body(void *argument, int member) {
    const step_run *r = argument;
    engine *e = r->e;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const step_plan *p = &e->training.steps;
    transform_filters(e, member, &p->supersteps[r->first]);
    if (e->training.by_superstep) team_barrier(e->team);
    for (int i = r->first; i < r->end; i++) {
        run_superstep(e, member, i);
        const bool well = join_groups(e, member, &p->supersteps[i]);
        member_mark(m, PHASE_WAIT);
        if (!well) return;
    }
    if (r->end < p->superstep_count) return;
    team_barrier(e->team);
    member_mark(m, PHASE_WAIT);
    gradients_join(&e->gradients, &e->ownership.tree, member);
    member_mark(m, PHASE_BACKWARD);
}

// No superstep needs more memory than in the plan of all gradients, for which it was taken.
static void freeze(engine *e, uint32_t frozen) {
    cpu_plan p;
    cpu_plan_training(&p, &e->execution, frozen);
    p.filters = e->training.filters;
    cpu_plan_release(&e->training);
    e->training = p;
    if (!p.by_superstep) packing_run(e->team, &e->execution, &e->training);
}

static void use_threads(engine *e, int threads) {
    e->execution.threads = threads;
    team_resize(e->team, threads);
}

static status begin(engine *e, const batch *b, error *err) {
    bool changed;
    status rc = ownership_fit(&e->ownership, b, &changed, err);
    if (rc != STATUS_OK || !changed) return rc;
    use_threads(e, e->ownership.threads);
    // A stage has all memory of its stacks.
    if (!e->execution.options.stage)
        rc = gradients_fit(&e->gradients, &e->ownership, &e->taken, err);
    if (rc != STATUS_OK)
        ownership_forget(&e->ownership);
    else
        gradients_assign(&e->gradients, &e->ownership);
    return rc;
}

// The ranges of a step are adjacent, so that each has gradient buffers of its own.
static status take_part(engine *e, const run_part *part, error *err) {
    ownership *o = &e->ownership;
    const int shards = ownership_local_shards(o);
    const bool all = part->first_shard == 0 && part->end_shard == shards;
    const bool next = part->first_shard == 0 || part->first_shard == o->run_end;
    if (!next || part->end_shard > shards || (!e->execution.options.stage && !all))
        return error_set(err, STATUS_FAILED,
                         "cannot run shards %d to %d of %d: they do not follow the earlier ones",
                         part->first_shard, part->end_shard, shards);
    ownership_assign(o, part->first_shard, part->end_shard);
    gradients_assign(&e->gradients, o);
    e->execution.part = *part;
    return STATUS_OK;
}

status cpu_run(engine *e, const batch *b, const run_part *part, error *err) {
    execution *x = &e->execution;
    const step_plan *p = &e->training.steps;
    NEED(step_plan_check_part(&x->options, part, err));
    NEED(begin(e, b, err));
    if (b->frozen != e->training.frozen) freeze(e, b->frozen);
    x->batch = b;
    x->norm.failed = STATUS_OK;
    x->norm.failure = err;
    if (part) NEED(take_part(e, part, err));
    step_run r = {e, 0, p->superstep_count};
    if (part) *(part->backward ? &r.first : &r.end) = p->backward_superstep;
    const uint64_t ns = members_run(e->members, e->team, step_body, &r);
    if (!part) ownership_shared(&e->ownership, team_slept(e->team), ns);
    return x->norm.failed;
}

// ---- Inference ----

typedef struct inference_run {
    engine *e;
    const uint8_t *const *pixels;
    size_t samples;
    float *logits;
    atomic_size_t next; // the first sample that no thread has taken
} inference_run;

static void store_logits(const group_work *g, const unit *last, float *logits) {
    const float *z = g->memory + last->z.offset;
    const int classes = g->e->program->classes, lanes = g->e->kernels->lanes;
    for (int n = 0; n < g->samples; n++)
        for (int j = 0; j < classes; j++) logits[n * classes + j] = z[j * lanes + n];
}

// A thread takes the next samples when it is ready for them: one that other programs delay takes
// fewer.
static void infer_body(void *argument, int member) {
    inference_run *r = argument;
    const engine *e = r->e;
    const execution *x = &e->execution;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const superstep *s = &e->inference.steps.supersteps[0];
    if (e->training.by_superstep && e->inference_is_old) {
        packing_transform(x, &e->inference, s->first, s->end, member);
        team_barrier(e->team);
    }
    const size_t lanes = (size_t)x->kernels->lanes;
    for (size_t first; (first = atomic_fetch_add(&r->next, lanes)) < r->samples;) {
        const size_t left = r->samples - first;
        float *memory = slot(e, (size_t)member);
        group_work work = {.e = x,
                           .member = m,
                           .mates = m,
                           .team = e->team,
                           .crew = {member, 1, false},
                           .slice = SLICE_WHOLE,
                           .samples = (int)(left < lanes ? left : lanes),
                           .pixels = r->pixels + first,
                           .memory = memory,
                           .images = memory,
                           .values = m->values};
        operations_run(&work, 1, &e->inference, s->first, s->end);
        store_logits(&work, &x->placement.units[x->placement.list.count - 1],
                     r->logits + first * (size_t)x->program->classes);
    }
    member_mark(m, PHASE_FORWARD);
}

static status take_filters(cpu_plan *p, size_t *taken, error *err) {
    if (!p->filters) TAKE(p->filters, p->filter_floats);
    return STATUS_OK;
}

status cpu_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err) {
    inference_run r = {.e = e, .pixels = pixels, .samples = samples, .logits = logits};
    if (take_filters(&e->inference, &e->taken, err) != STATUS_OK) return STATUS_FAILED;
    batch_norm_inference(&e->execution);
    use_threads(e, e->execution.options.threads);
    (void)members_run(e->members, e->team, infer_body, &r);
    use_threads(e, e->ownership.threads);
    e->inference_is_old = false;
    return STATUS_OK;
}
