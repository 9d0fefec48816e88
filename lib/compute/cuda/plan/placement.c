// SPDX-License-Identifier: MIT
// Units and the memory of their activations.
//
// Every activation has separate memory: backward needs all of a step's activations, and a device
// has room. (The CPU's engine keeps those of a group in its cache instead.)
#include <limits.h>

#include "base/memory.h"
#include "compute/cuda/engine.h"

static status take_activation(engine *e, shape s, float **memory, error *err) {
    const size_t floats =
        (size_t)e->options.local_shards * shape_size(s) * (size_t)e->lanes * sizeof(float);
    return cuda_take(e, floats, memory, err);
}

// Up to this number, a channel of a linear layer is small enough for one block to do its tail.
enum { TAIL_LANES_MOST = 1024 };

// A tail can go with the product unless it needs results from all shards, or from all blocks of a
// channel: that is, without batch norm, or after the batch norm of a linear layer, which has few
// elements; there the block that finishes the moments makes it.
static void place_product(const engine *e, cuda_unit *u) {
    const unit_layers *l = &u->layers;
    const bool simple = !l->plus && !l->smooth; // what products know of tails
    const bool linear = l->core && l->core->kind == LAYER_LINEAR;
    const bool few = linear && e->lanes <= TAIL_LANES_MOST && !e->options.sync_batch_norm;
    const bool fuses = e->sums_by->fuses && l->core && layer_groups(l->core) == 1;
    u->ours = l->core && !(linear && fuses && cuda_linear_by_blas(l->core, e->lanes));
    u->fuses = u->ours && fuses;
    u->makes_moments = u->fuses && l->norm;
    u->fuses_tail = u->fuses && !l->last && simple;
    u->makes_tail = u->fuses_tail && (!l->norm || few);
}

static bool has_one_reader(const engine *e, int index) {
    int readers = 0;
    for (int i = index + 1; i < e->units.count; i++) {
        const unit_layers *l = &e->units.units[i];
        readers += l->source.unit == index;
        readers += unit_has_second(l) && l->second.unit == index;
    }
    return readers == 1;
}

// The sums over dy for the gradient through a batch norm go with the product that makes dy, if its
// rows are the norm's channels, that is, without a flatten in between, and if it makes all of dy.
static void place_sums(engine *e, int index) {
    cuda_unit *u = &e->placed[index];
    const layer *l = u->layers.core;
    const int source = u->layers.source.unit;
    if (!u->fuses || source == UNIT_INPUT || !has_one_reader(e, source)) return;
    cuda_unit *front = &e->placed[source];
    if (!front->layers.norm || front->layers.plus || front->layers.smooth) return;
    const shape x = u->layers.x, y = front->layers.y;
    const bool same = x.channels == y.channels && x.height == y.height && x.width == y.width;
    const bool strided = l->kind == LAYER_CONV && (l->stride_h > 1 || l->stride_w > 1);
    if (!same || strided) return;
    u->sums_of = front;
    front->has_sums = true;
}

static const float *value_of(const engine *e, unit_source s) {
    return s.unit == UNIT_INPUT ? e->input : e->placed[s.unit].y;
}

static float *gradient_of(const engine *e, unit_source s) {
    return !s.gradient ? NULL : s.unit == UNIT_INPUT ? e->input_gradient : e->placed[s.unit].dy;
}

static void place_sources(const engine *e, cuda_unit *u) {
    const unit_layers *l = &u->layers;
    const bool adds = l->source.gradient && l->source.adds;
    u->x = value_of(e, l->source);
    u->dx = adds ? e->added : gradient_of(e, l->source);
    u->dx_total = adds ? gradient_of(e, l->source) : NULL;
    if (!unit_has_second(l)) return;
    u->second = value_of(e, l->second);
    u->second_dx = gradient_of(e, l->second);
}

static status place_unit(engine *e, int index, error *err) {
    cuda_unit *u = &e->placed[index];
    const unit_layers *l = &e->units.units[index];
    status rc = STATUS_OK;
    u->layers = *l;
    place_product(e, u);
    place_sums(e, index);
    place_sources(e, u);
    if (!l->alone) TRY(take_activation(e, l->z, &u->z, err));
    if (l->last) return rc;
    TRY(take_activation(e, l->y, &u->y, err));
    TRY(take_activation(e, l->y, &u->dy, err));
    if (l->pool || (l->alone && layer_traits_of(l->alone)->has_choices)) {
        const size_t elements =
            (size_t)e->options.local_shards * shape_size(l->y) * (size_t)e->lanes;
        TRY(cuda_take(e, elements, &u->winner, err));
    }
out:
    return rc;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// The scratch memory that weight gradients share, which run one after another; and convolutions,
// likewise.
static status take_workspace(engine *e, error *err) {
    const int shards = e->options.local_shards;
    size_t workspace = 0, counters = 0, transforms = 0;
    status rc;
    for (int i = 0; i < e->units.count; i++) {
        if (!e->placed[i].ours) continue;
        const conv_task t = cuda_conv_task_of(e->units.units[i].core);
        workspace = larger(workspace, e->sums_by->conv_workspace(&t, e->lanes, shards));
        counters = larger(counters, e->sums_by->conv_counters(&t, e->lanes, shards));
        transforms = larger(transforms, e->sums_by->conv_transforms(&t, e->lanes, shards));
    }
    TRY(cuda_take(e, workspace * sizeof(float), &e->workspace, err));
    TRY(cuda_take(e, counters * sizeof *e->counters, &e->counters, err));
    TRY(cuda_take(e, transforms * sizeof(float), &e->transforms, err));
out:
    return rc;
}

// Gradients of the largest x that is added to another one.
static status take_added(engine *e, error *err) {
    shape largest = {0};
    for (int i = 0; i < e->units.count; i++) {
        const unit_layers *l = &e->units.units[i];
        if (l->source.adds && shape_size(l->x) > shape_size(largest)) largest = l->x;
    }
    return take_activation(e, largest, &e->added, err);
}

// A point's filters begin at an int (exact_conv.cu), and a dimension of a grid has all parts of the
// channels of all shards (conv_task).
static status check_layers(const engine *e, error *err) {
    const program *p = e->program;
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        if (l->kind == LAYER_CONV && layer_groups(l) > MAX_GRID_YZ / e->options.local_shards)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': it has %d groups in %d shards, more than %d "
                             "together; use --device cpu",
                             l->name, layer_groups(l), e->options.local_shards, (int)MAX_GRID_YZ);
        if (!e->options.exact) continue;
        const long long filters = (long long)l->in.channels * l->out.channels;
        if (winograd_pays(l) && 36 * filters > INT_MAX)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': it has too many channels; use --math fast or "
                             "--device cpu",
                             l->name);
    }
    return STATUS_OK;
}

status cuda_place(engine *e, error *err) {
    const engine_options *o = &e->options;
    status rc;
    TRY(check_layers(e, err));
    TRY(units_init(&e->units, e->program, o->receives, o->sends, err));
    e->placed = memory_new((size_t)e->units.count, sizeof *e->placed, err);
    if (!e->placed) TRY(STATUS_FAILED);
    TRY(take_activation(e, e->program->input, &e->input, err));
    if (o->receives) TRY(take_activation(e, e->program->input, &e->input_gradient, err));
    TRY(take_added(e, err));
    for (int i = 0; i < e->units.count; i++) TRY(place_unit(e, i, err));
    TRY(take_workspace(e, err));
out:
    return rc;
}
