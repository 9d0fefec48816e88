// SPDX-License-Identifier: MIT
// The begin and the end of a plan; units and the memory of their activations.
//
// Every activation has separate memory: backward needs all of a step's activations, and a device
// has room. (The CPU's engine keeps those of a group in its cache instead.)
#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cuda/plan/cuda_plan.h"

void cuda_plan_begin(cuda_plan *p, const program *of, const engine_options *o,
                     optimizer_kind kind) {
    p->program = of;
    p->options = *o;
    p->kind = kind;
    p->sums_by = cuda_arithmetic(o->exact);
    p->lanes = (o->shard_samples + LANE_ROUND - 1) / LANE_ROUND * LANE_ROUND;
    p->groups = (p->lanes + GROUP - 1) / GROUP;
}

void cuda_plan_close(cuda_plan *p) {
    units_release(&p->units);
    free(p->placed);
    free(p->operations);
    free(p->inference);
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

// Up to this number, a channel of a linear layer is small enough for one block to do its epilogue.
enum { EPILOGUE_LANES_MOST = 1024 };

// An epilogue can go with the product unless it needs results from all shards, or from all blocks
// of a channel: that is, without batch norm, or after the batch norm of a linear layer, which has
// few elements; there the block that finishes the moments makes it.
static void place_product(cuda_plan *p, cuda_unit *u) {
    const unit_layers *l = &u->layers;
    const bool linear = l->anchor && l->anchor->kind == LAYER_LINEAR;
    const bool few = linear && p->lanes <= EPILOGUE_LANES_MOST && !p->options.sync_batch_norm;
    const bool fuses = p->sums_by->fuses && l->anchor && layer_groups(l->anchor) == 1;
    const bool simple = !l->plus && !l->smooth; // what products know of epilogues
    u->ours = l->anchor && !(linear && fuses && cuda_linear_by_blas(l->anchor, p->lanes));
    p->uses_blas |= l->anchor && !u->ours;
    u->fuses = u->ours && fuses;
    u->makes_moments = u->fuses && l->norm;
    u->fuses_epilogue = u->fuses && !l->last && simple;
    u->makes_epilogue = u->fuses_epilogue && (!l->norm || few);
}

static bool has_one_reader(const unit_list *l, int unit) {
    int readers = 0;
    for (int i = unit + 1; i < l->count; i++) {
        const unit_layers *u = &l->units[i];
        readers += u->source.unit == unit;
        readers += unit_has_second(u) && u->second.unit == unit;
    }
    return readers == 1;
}

// The sums over dy for the gradient through a batch norm go with the product that makes dy, if its
// rows are the norm's channels, that is, without a flatten in between, and if it makes all of dy.
static void place_sums(const cuda_plan *p, cuda_unit *u) {
    const layer *l = u->layers.anchor;
    const int source = u->layers.source.unit;
    if (!u->fuses || source == UNIT_INPUT || !has_one_reader(&p->units, source)) return;
    cuda_unit *front = &p->placed[source];
    if (!front->layers.norm || front->layers.plus || front->layers.smooth) return;
    const shape x = u->layers.x, y = front->layers.y;
    const bool same = x.channels == y.channels && x.height == y.height && x.width == y.width;
    const bool strided = l->kind == LAYER_CONV && (l->stride_h > 1 || l->stride_w > 1);
    if (!same || strided) return;
    u->sums_of = front;
    front->has_sums = true;
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
    place_product(p, u);
    place_sums(p, u);
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
        const conv_task t = cuda_conv_task_of(p->units.units[i].anchor);
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

// A point's filters begin at an int (exact_conv.cu), and a dimension of a grid has all parts of the
// channels of all shards (conv_task).
static status check_layers(const cuda_plan *p, error *err) {
    const engine_options *o = &p->options;
    for (int i = 0; i < p->program->count; i++) {
        const layer *l = &p->program->layers[i];
        const long long filters = (long long)l->in.channels * l->out.channels;
        if (l->kind == LAYER_CONV && layer_groups(l) > MAX_GRID_YZ / o->local_shards)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': %d groups of channels in %d shards are more "
                             "than %d; use --device cpu",
                             l->name, layer_groups(l), o->local_shards, (int)MAX_GRID_YZ);
        if (o->exact && winograd_pays(l) && 36 * filters > INT_MAX)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': it has too many channels; use --math fast or "
                             "--device cpu",
                             l->name);
    }
    return STATUS_OK;
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
    TRY(check_layers(p, err));
    TRY(units_init(&p->units, p->program, o->receives, o->sends, err));
    p->placed = memory_new((size_t)p->units.count, sizeof *p->placed);
    TRY(take_activation(p, p->program->input, &p->input, d, err));
    if (o->receives) TRY(take_activation(p, p->program->input, &p->input_gradient, d, err));
    TRY(take_added(p, d, err));
    for (int i = 0; i < p->units.count; i++) TRY(place_unit(p, i, d, err));
    TRY(take_workspace(p, d, err));
out:
    return rc;
}
