// SPDX-License-Identifier: MIT
// The begin and the end of a plan; units and the memory of their activations.
//
// Every activation has separate memory: backward needs all of a step's activations, and a device
// has room. (The CPU's engine keeps those of a group in its cache instead.)
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cuda/plan/cuda_plan.h"

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

void cuda_plan_steps(cuda_plan *p) {
    const engine_options *o = &p->options;
    step_plan_training(&p->training, p->program, &p->units, o, p->frozen);
    step_plan_inference(&p->inference, p->program, &p->units);
    p->graphable = !(o->sync_batch_norm && o->exchange) && !o->stage;
}

void cuda_plan_freeze(cuda_plan *p, uint32_t frozen) {
    step_plan_release(&p->training);
    step_plan_training(&p->training, p->program, &p->units, &p->options, frozen);
    p->frozen = frozen;
}

size_t cuda_block_floats(const cuda_plan *p, bool output) {
    return shape_size(output ? cuda_last_unit(p)->layers.y : p->program->input) * GROUP;
}

// Returns the number of values of an activation.
static size_t values(const cuda_plan *p, shape s) {
    return (size_t)p->options.local_shards * shape_size(s) * (size_t)p->lanes;
}

static status take_activation(const cuda_plan *p, shape s, float **memory, cuda_device *d,
                              error *err) {
    return cuda_take(d, values(p, s) * sizeof(float), memory, err);
}

static const float *value_of(const cuda_plan *p, unit_source s) {
    return s.unit == UNIT_INPUT ? p->input : p->placed[s.unit].y;
}

static float *gradient_of(const cuda_plan *p, unit_source s) {
    return !s.gradient ? NULL : s.unit == UNIT_INPUT ? p->input_gradient : p->placed[s.unit].dy;
}

static void place_sources(const cuda_plan *p, cuda_unit *u) {
    const unit_layers *l = &u->layers;
    const bool adds = l->source.gradient && l->source.adds;
    const cuda_unit *source = l->source.unit == UNIT_INPUT ? NULL : &p->placed[l->source.unit];
    if (source && source->layers.options.sums_with_reader) u->sums_of = source;
    u->x = value_of(p, l->source);
    u->dx = adds ? p->added : gradient_of(p, l->source);
    u->dx_total = adds ? gradient_of(p, l->source) : NULL;
    if (!unit_has_second(l)) return;
    u->second = value_of(p, l->second);
    u->second_dx = gradient_of(p, l->second);
}

static status place_unit(cuda_plan *p, int index, cuda_device *d, error *err) {
    cuda_unit *u = &p->placed[index];
    const unit_layers *l = &p->units.units[index];
    status rc = STATUS_OK;
    u->layers = *l;
    u->ours = l->anchor && cuda_is_ours(p->sums_by, l->anchor, p->lanes);
    p->uses_blas |= l->anchor && !u->ours;
    place_sources(p, u);
    if (!l->unfused) TRY(take_activation(p, l->z, &u->z, d, err));
    if (l->last) return rc;
    TRY(take_activation(p, l->y, &u->y, d, err));
    TRY(take_activation(p, l->y, &u->dy, d, err));
    if (l->pool || (l->unfused && layer_traits_of(l->unfused)->has_choices))
        TRY(cuda_take(d, values(p, l->y), &u->argmax, err));
out:
    return rc;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// The scratch memory that weight gradients share, which run one after another; and convolutions,
// likewise.
static status take_workspace(cuda_plan *p, cuda_device *d, error *err) {
    const int shards = p->options.local_shards;
    size_t workspace = 0, counters = 0, transforms = 0;
    status rc;
    for (int i = 0; i < p->units.count; i++) {
        if (!p->placed[i].ours) continue;
        const cuda_conv_task t = cuda_conv_task_of(p->units.units[i].anchor);
        workspace = larger(workspace, p->sums_by->conv_workspace(&t, p->lanes, shards));
        counters = larger(counters, p->sums_by->conv_counters(&t, p->lanes, shards));
        transforms = larger(transforms, p->sums_by->conv_transforms(&t, p->lanes, shards));
    }
    TRY(cuda_take(d, workspace * sizeof(float), &p->workspace, err));
    TRY(cuda_take(d, counters * sizeof *p->counters, &p->counters, err));
    TRY(cuda_take(d, transforms * sizeof(float), &p->transforms, err));
out:
    return rc;
}

// For the largest x whose gradient is added to another one.
static status take_added(cuda_plan *p, cuda_device *d, error *err) {
    size_t most = 0;
    for (int i = 0; i < p->units.count; i++) {
        const unit_layers *l = &p->units.units[i];
        if (l->source.adds) most = larger(most, values(p, l->x));
    }
    return cuda_take(d, most * sizeof(float), &p->added, err);
}

status cuda_place(cuda_plan *p, cuda_device *d, error *err) {
    const engine_options *o = &p->options;
    status rc;
    TRY(cuda_units(p->program, o, &p->units, err));
    p->placed = memory_new((size_t)p->units.count, sizeof *p->placed);
    TRY(take_activation(p, p->program->input, &p->input, d, err));
    if (o->receives) TRY(take_activation(p, p->program->input, &p->input_gradient, d, err));
    TRY(take_added(p, d, err));
    for (int i = 0; i < p->units.count; i++) TRY(place_unit(p, i, d, err));
    TRY(take_workspace(p, d, err));
out:
    return rc;
}
