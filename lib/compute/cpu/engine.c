// SPDX-License-Identifier: MIT
// A CPU engine: opening, closing, memory. The backend's table is at the end.
#include <stdlib.h>
#include <string.h>

#include "compute/cpu/batch_norm.h"
#include "compute/cpu/cpu_engine.h"
#include "compute/cpu/exchange.h"
#include "compute/cpu/take.h"

// ---- Opening ----

static status check_options(const program *p, const engine_options *o, error *err) {
    if (!o->receives && p->input.channels > ENGINE_MAX_CHANNELS)
        return error_set(err, STATUS_USAGE, "cannot run this model: more than %d input channels",
                         (int)ENGINE_MAX_CHANNELS);
    if (o->threads < 1 || o->shards < 1 || o->local_shards < 1 || o->local_shards > o->shards ||
        o->shard_samples < 1)
        return error_set(
            err, STATUS_USAGE,
            "cannot open a cpu engine: threads, shards and samples must be at least 1");
    if (o->shards > ENGINE_MAX_SHARDS || o->shard_samples > ENGINE_MAX_SHARD_SAMPLES)
        return error_set(err, STATUS_USAGE,
                         "cannot run this batch: at most %d virtual shards of %d samples per step",
                         (int)ENGINE_MAX_SHARDS, (int)ENGINE_MAX_SHARD_SAMPLES);
    return STATUS_OK;
}

static status take_model(engine *e, size_t *taken, error *err) {
    execution *x = &e->execution;
    TAKE(x->parameters, x->program->parameters);
    TAKE(x->buffers, x->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++) TAKE(e->state[i], x->program->parameters);
    TAKE(x->packed, x->placement.packed_floats);
    return STATUS_OK;
}

// Forward operations come first in training, too: if it has the filters of all of them, those of
// inference have the same places.
static status take_plans(engine *e, size_t *taken, error *err) {
    cpu_plan_training(&e->training, &e->execution, 0);
    cpu_plan_inference(&e->inference, &e->execution);
    TAKE(e->training.filters, e->training.filter_floats);
    if (!e->training.by_superstep) e->inference.filters = e->training.filters;
    return STATUS_OK;
}

static status take_members(engine *e, size_t *taken, error *err) {
    const engine_options *o = &e->execution.options;
    const bool shares = o->threads > e->ownership.capacity && !engine_runs_in_parts(o);
    const bool own_images = shares && e->training.steps.operations[0].cut == CUT_EACH; // the load
    TAKE(e->members, (size_t)o->threads);
    e->members[0].track = o->track;
    for (int t = 0; t < o->threads; t++) {
        team_member *m = &e->members[t];
        TAKE(m->scratch, e->execution.placement.scratch_floats);
        if (own_images) TAKE(m->images, e->execution.placement.image_floats);
        TAKE(m->added, e->training.added_floats);
        TAKE(m->values, e->training.values_floats); // inference takes one group at a time
        if (t > 0) trace_track_new(o->trace, &m->track, "%s %d", o->track_name, t);
    }
    return STATUS_OK;
}

static status take_slots(engine *e, size_t *taken, error *err) {
    const placement *p = &e->execution.placement;
    slot_memory *s = &e->slots;
    s->bytes = p->floats * sizeof(float) + p->bytes;
    s->count = (size_t)e->execution.options.threads;
    if (!p->shares_slots && (size_t)e->ownership.capacity > s->count)
        s->count = (size_t)e->ownership.capacity;
    TAKE(s->base, s->count * s->bytes);
    return STATUS_OK;
}

static status open_parts(engine *e, error *err) {
    execution *x = &e->execution;
    const engine_options *o = &x->options;
    ownership *owners = &e->ownership;
    size_t *taken = &e->taken;
    NEED(placement_init(&x->placement, x->program, x->kernels, o, err));
    NEED(take_plans(e, taken, err));
    NEED(take_model(e, taken, err));
    NEED(ownership_init(owners, o, taken, err));
    NEED(take_members(e, taken, err));
    NEED(take_slots(e, taken, err));
    NEED(norm_state_init(&x->norm, x->placement.list.norm_channels, o, owners->capacity, taken,
                         err));
    NEED(gradients_init(&e->gradients, x->program, o, owners, taken, err));
    return team_new(o->threads, o->spin, &e->team, err);
}

static void close_execution(execution *x) {
    norm_state_release(&x->norm);
    free(x->parameters);
    free(x->buffers);
    free(x->packed);
    placement_release(&x->placement);
}

static void cpu_close(engine *e) {
    if (!e) return;
    team_free(e->team);
    members_free(e->members, e->execution.options.threads);
    gradients_release(&e->gradients);
    ownership_release(&e->ownership);
    if (e->training.by_superstep) free(e->inference.filters);
    free(e->training.filters);
    cpu_plan_release(&e->training);
    cpu_plan_release(&e->inference);
    close_execution(&e->execution);
    free(e->state[0]);
    free(e->state[1]);
    free(e->slots.base);
    for (size_t i = 0; i < e->given.count; i++) free(e->given.pieces[i]);
    free(e->given.pieces);
    free(e);
}

static void begin_execution(execution *x, const program *p, const kernels *k,
                            const engine_options *o) {
    *x = (execution){.program = p, .kernels = k, .options = *o};
    x->options.threads = x->threads = ownership_threads(o);
    x->options.spin = o->spin || x->options.threads <= o->cores;
    for (int c = 0; !o->receives && c < p->input.channels; c++)
        x->load_scale[c] = engine_input_scale(o, c, &x->load_shift[c]);
}

static status cpu_open(const program *p, const engine_options *o, optimizer_kind kind, engine **out,
                       error *err) {
    *out = NULL;
    status rc = check_options(p, o, err);
    if (rc != STATUS_OK) return rc;
    // Depends on the experiment alone, never on which engine holds which shard.
    const kernels *k = kernels_find(o->isa, kernels_lanes(o->shard_samples));
    if (!k)
        return error_set(err, STATUS_USAGE,
                         "cannot use instruction set '%s': unknown, or not supported by this "
                         "processor; known: v4, v3, baseline",
                         o->isa);
    engine *e = memory_new(1, sizeof *e);
    e->kind = kind;
    begin_execution(&e->execution, p, k, o);
    rc = open_parts(e, err);
    if (rc != STATUS_OK) {
        cpu_close(e);
        return rc;
    }
    *out = e;
    return STATUS_OK;
}

// ---- Memory between engines ----

// Not counted in the memory of this engine: its caller needs it.
static float *cpu_allocate(engine *e, size_t floats, error *err) {
    given_memory *g = &e->given;
    g->pieces = memory_grow(g->pieces, &g->room, g->count + 1, sizeof *g->pieces);
    float *memory = memory_try_new_aligned(floats, sizeof *memory, err);
    if (memory) g->pieces[g->count++] = memory;
    return memory;
}

static status cpu_copy(engine *e, const engine_copy *copies, int count, error *err) {
    (void)e, (void)err;
    for (int i = 0; i < count; i++)
        memcpy(copies[i].to, copies[i].from, copies[i].floats * sizeof(float));
    return STATUS_OK;
}

// ---- The rest of the table ----

static engine_tree cpu_tree(const engine *e) {
    return (engine_tree){&e->ownership.tree, e->ownership.shard_leaves};
}

static float *const *cpu_gradients(engine *e, int *count) {
    *count = e->gradients.end;
    return e->gradients.buffers;
}

static float *cpu_reduced(engine *e) {
    return e->gradients.reduced;
}

static status cpu_reduce(engine *const *engines, int count, bool exact, error *err) {
    (void)err;
    const gradients **all = memory_new((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) all[i] = &engines[i]->gradients;
    gradients_reduce(all, count, &engines[0]->ownership.tree, exact);
    free(all);
    return STATUS_OK;
}

static void cpu_loss(engine *e, const batch *whole, float *logits, float *losses) {
    exchange_loss(&e->execution, whole, logits, losses);
}

static phase_times cpu_times(engine *e) {
    return members_times(e->members, e->execution.options.threads, e->execution.threads);
}

static engine_description cpu_describe(const engine *e) {
    return (engine_description){.isa = e->execution.kernels->isa, .memory = e->taken};
}

static const backend cpu = {
    .name = "cpu",
    .units = placement_units,
    .open = cpu_open,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .copy = cpu_copy,
    .write = cpu_write,
    .read = cpu_read,
    .run = cpu_run,
    .tree = cpu_tree,
    .gradients = cpu_gradients,
    .loss = cpu_loss,
    .reduce = cpu_reduce,
    .reduced = cpu_reduced,
    .update = cpu_update,
    .infer = cpu_infer,
    .times = cpu_times,
    .describe = cpu_describe,
};

const backend *backend_find(const char *name) {
    return strcmp(name, "cpu") == 0 ? &cpu : NULL;
}
