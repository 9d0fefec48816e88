// SPDX-License-Identifier: MIT
// The begin and the end of a plan; units and the memory of their activations.
//
// All shards' values of an activation lie together. Activations that are not in use at the same
// time share memory (plan/lifetimes.h): weight gradients may run until the end of a step, so these
// are mostly the gradients of earlier and later layers.
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cuda/plan/cuda_plan.h"
#include "compute/plan/lifetimes.h"
#include "compute/plan/within.h"

void cuda_plan_begin(cuda_plan *p, const program *of, const engine_options *o,
                     optimizer_kind kind) {
    p->program = of;
    p->options = *o;
    p->kind = kind;
    p->sums_by = cuda_arithmetic(o->exact);
    p->lanes = cuda_lanes(o);
    p->groups = (p->lanes + GROUP - 1) / GROUP;
}

void cuda_plan_close(cuda_plan *p) {
    units_release(&p->units);
    free(p->placed);
    step_plan_release(&p->training);
    step_plan_release(&p->inference);
}

status cuda_plan_steps(cuda_plan *p, error *err) {
    const engine_options *o = &p->options;
    const status rc = cuda_units(p->program, o, &p->units, err);
    if (rc != STATUS_OK) return rc;
    step_plan_training(&p->training, p->program, &p->units, o, p->frozen);
    step_plan_inference(&p->inference, p->program, &p->units);
    p->graphable = !(o->sync_batch_norm && o->exchange) && !o->stage;
    return rc;
}

void cuda_plan_freeze(cuda_plan *p, uint32_t frozen) {
    step_plan_release(&p->training);
    step_plan_training(&p->training, p->program, &p->units, &p->options, frozen);
    p->frozen = frozen;
}

// Returns the number of values of an activation.
static size_t values(const cuda_plan *p, shape s) {
    return (size_t)p->options.local_shards * shape_size(s) * (size_t)p->lanes;
}

static float *value_of(const cuda_plan *p, int unit) {
    return unit == UNIT_NONE ? NULL : unit == UNIT_INPUT ? p->input : p->placed[unit].y;
}

static float *gradient_of(const cuda_plan *p, unit_source s) {
    return !s.gradient ? NULL : s.unit == UNIT_INPUT ? p->input_gradient : p->placed[s.unit].dy;
}

// Values within others, once these are placed.
static void place_within(cuda_plan *p, int index) {
    const value_range y = units_place(&p->units, index);
    const value_range dy = units_gradient_place(&p->units, index);
    cuda_unit *u = &p->placed[index];
    if (y.unit != index) u->y = value_of(p, y.unit) + y.feature * (size_t)p->lanes;
    if (dy.unit == index) return;
    float *whole = dy.unit == UNIT_INPUT ? p->input_gradient : p->placed[dy.unit].dy;
    if (whole) u->dy = whole + dy.feature * (size_t)p->lanes;
}

static void place_sources(const cuda_plan *p, cuda_unit *u) {
    const unit_layers *l = u->layers;
    const bool adds = l->source.gradient && l->source.adds;
    const cuda_unit *source = l->source.unit < 0 ? NULL : &p->placed[l->source.unit];
    if (source && source->layers->options.sums_with_reader) u->sums_of = source;
    u->x = value_of(p, l->source.unit);
    if (l->options.on_x) u->z = value_of(p, l->source.unit);
    u->dx = adds ? p->added : gradient_of(p, l->source);
    u->dx_total = adds ? gradient_of(p, l->source) : NULL;
    if (!unit_has_second(l)) return;
    u->second = value_of(p, l->second.unit);
    u->second_dx = gradient_of(p, l->second);
}

static void begin_unit(cuda_plan *p, int index) {
    cuda_unit *u = &p->placed[index];
    const layer *anchor = p->units.units[index].anchor;
    u->layers = &p->units.units[index];
    u->ours = anchor && cuda_is_ours(p->sums_by, anchor, p->lanes);
    p->uses_blas |= anchor && !u->ours;
}

static status take_choices(cuda_plan *p, cuda_unit *u, cuda_device *d, error *err) {
    const unit_layers *l = u->layers;
    if (l->last || !(l->pool || (l->unfused && layer_traits_of(l->unfused)->has_choices)))
        return STATUS_OK;
    return cuda_take(d, values(p, l->y), &u->argmax, err);
}

// ---- Activations ----

// An activation in the arena, in units of ALIGNMENT floats.
enum { ALIGNMENT = 64 };
typedef struct placed_value {
    float **pointer;
    size_t at;
} placed_value;

typedef struct placing {
    const cuda_plan *plan;
    lifetimes in_use;
    arena arena;
    placed_value *values;
    int count;
} placing;

// The ranges of a stage's shards are in different parts of a step at the same time, so that its
// values share nothing.
static void place(placing *x, int unit, value_kind kind, shape of, float **pointer) {
    const lifetime whole = {0, x->plan->training.operation_count};
    const lifetime own = lifetime_of(&x->in_use, unit, kind);
    const size_t size = (values(x->plan, of) + ALIGNMENT - 1) / ALIGNMENT;
    if (own.first == own.end) return;
    x->values[x->count++] =
        (placed_value){pointer, arena_take(&x->arena, size, x->plan->options.stage ? whole : own)};
}

static void place_all(placing *x, cuda_plan *p) {
    place(x, UNIT_INPUT, VALUE_Y, p->program->input, &p->input);
    place(x, UNIT_INPUT, VALUE_DY, p->program->input, &p->input_gradient);
    for (int i = 0; i < p->units.count; i++) {
        cuda_unit *u = &p->placed[i];
        place(x, i, VALUE_Z, u->layers->z, &u->z);
        place(x, i, VALUE_Y, u->layers->y, &u->y);
    }
    for (int i = p->units.count - 1; i >= 0; i--)
        place(x, i, VALUE_DY, p->placed[i].layers->y, &p->placed[i].dy);
}

static status take_activations(cuda_plan *p, cuda_device *d, error *err) {
    const size_t most = ((size_t)p->units.count + 1) * VALUE_KINDS;
    placing x = {.plan = p, .values = memory_new(most, sizeof *x.values)};
    float *memory;
    lifetimes_init(&x.in_use, &p->training, true);
    place_all(&x, p);
    const status rc = cuda_take(d, x.arena.end * ALIGNMENT * sizeof *memory, &memory, err);
    for (int i = 0; i < x.count && rc == STATUS_OK; i++)
        *x.values[i].pointer = memory + x.values[i].at * ALIGNMENT;
    arena_release(&x.arena);
    lifetimes_release(&x.in_use);
    free(x.values);
    return rc;
}

// ---- Scratch memory ----

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// The scratch memory that weight gradients share, which run one after another; and convolutions,
// likewise.
static status take_workspace(cuda_plan *p, cuda_device *d, error *err) {
    const int shards = p->options.local_shards;
    size_t workspace = 0, counters = 0, transforms = 0;
    for (int i = 0; i < p->units.count; i++) {
        if (!p->placed[i].ours) continue;
        const cuda_conv_task t = cuda_conv_task_of(p->units.units[i].anchor);
        workspace = larger(workspace, p->sums_by->conv_workspace(&t, p->lanes, shards));
        counters = larger(counters, p->sums_by->conv_counters(&t, p->lanes, shards));
        transforms = larger(transforms, p->sums_by->conv_transforms(&t, p->lanes, shards));
    }
    NEED(cuda_take(d, workspace * sizeof(float), &p->workspace, err));
    NEED(cuda_take(d, counters * sizeof *p->counters, &p->counters, err));
    return cuda_take(d, transforms * sizeof(float), &p->transforms, err);
}

// For the largest x whose gradient is added to another one.
static status take_added(cuda_plan *p, cuda_device *d, error *err) {
    size_t most = 0;
    for (int i = 0; i < p->units.count; i++) {
        const unit_layers *l = &p->units.units[i];
        if (l->source.adds && !l->moved) most = larger(most, values(p, l->x));
    }
    return cuda_take(d, most * sizeof(float), &p->added, err);
}

status cuda_place(cuda_plan *p, cuda_device *d, error *err) {
    p->placed = memory_new((size_t)p->units.count, sizeof *p->placed);
    for (int i = 0; i < p->units.count; i++) begin_unit(p, i);
    NEED(take_activations(p, d, err));
    NEED(take_added(p, d, err));
    for (int i = 0; i < p->units.count; i++) place_within(p, i);
    for (int i = 0; i < p->units.count; i++) {
        place_sources(p, &p->placed[i]);
        NEED(take_choices(p, &p->placed[i], d, err));
    }
    return take_workspace(p, d, err);
}
