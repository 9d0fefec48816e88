// SPDX-License-Identifier: MIT
// The layers that begin a unit, on one group of samples: builds the tasks of their kernels.
#include "compute/cpu/layers.h"

#include "compute/cpu/convolution.h"

// ---- Anchors; convolution.c has the other ----

// What the kernels take at once: outputs; inputs, also of weights.
enum { OUTPUTS = 4, INPUTS = 16 };

// A range of multiples, as one of n outputs or inputs.
static slice_range in_multiples(slice_range r, int multiple, int n) {
    return (slice_range){r.first * multiple, r.end * multiple < n ? r.end * multiple : n};
}

// The slice's part of n outputs or inputs.
static slice_range part_of_slice(const group_work *g, int multiple, int n) {
    return in_multiples(slice_of(g->slice, blocks_of(n, multiple)), multiple, n);
}

static size_t lanes_of(const group_work *g) {
    return (size_t)g->e->kernels->lanes;
}

static void linear_forward(const group_work *g, const unit *u) {
    const layer *l = u->layers->anchor;
    const slice_range own = part_of_slice(g, OUTPUTS, (int)shape_size(l->out));
    const size_t first = (size_t)own.first, inputs = shape_size(l->in);
    const linear_task t = {.inputs = (int)inputs,
                           .outputs = own.end - own.first,
                           .weight = g->e->parameters + l->weight + first * inputs,
                           .bias = l->has_bias ? g->e->parameters + l->bias + first : NULL,
                           .x = group_memory(g, u->x) + u->x.offset,
                           .z = g->memory + u->z.offset + first * lanes_of(g)};
    g->e->kernels->linear(&t);
}

static void linear_input(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers->anchor;
    const slice_range own = part_of_slice(g, INPUTS, (int)shape_size(l->in));
    const size_t first = (size_t)own.first;
    const linear_task t = {.inputs = own.end - own.first,
                           .outputs = (int)shape_size(l->out),
                           .row = shape_size(l->in),
                           .weight = g->e->parameters + l->weight + first,
                           .x = g->memory + u->z.offset,
                           .z = dx + first * lanes_of(g)};
    g->e->kernels->linear_transposed(&t);
}

static void linear_weights(const group_work *g, const unit *u, float *dw, float *db) {
    const layer *l = u->layers->anchor;
    const int all_inputs = (int)shape_size(l->in), all_outputs = (int)shape_size(l->out);
    const slice_area own =
        slice_area_of(g->slice, blocks_of(all_outputs, OUTPUTS), blocks_of(all_inputs, INPUTS));
    if (slice_is_empty(own)) return;
    const slice_range outputs = in_multiples(own.rows, OUTPUTS, all_outputs);
    const slice_range inputs = in_multiples(own.columns, INPUTS, all_inputs);
    const size_t in = (size_t)inputs.first, out = (size_t)outputs.first;
    const linear_weight_task t = {.inputs = inputs.end - inputs.first,
                                  .outputs = outputs.end - outputs.first,
                                  .row = shape_size(l->in),
                                  .x = group_memory(g, u->x) + u->x.offset + in * lanes_of(g),
                                  .dz = g->memory + u->z.offset + out * lanes_of(g),
                                  .dw = dw + out * shape_size(l->in) + in,
                                  .db = db && in == 0 ? db + out : NULL,
                                  .scratch = g->member->scratch,
                                  .accumulate = g->accumulate};
    g->e->kernels->linear_weight(&t);
}

// ---- Unfused layers ----

static layer_task task_of(const group_work *g, const unit *u, float *dx) {
    const execution *e = g->e;
    const layer *l = u->layers->unfused;
    const unit_source *second = &u->layers->second;
    layer_task t = {.l = l,
                    .x = group_view(g, u->x, l->in),
                    .y = place_view(u->y, g->memory),
                    .choices = group_choices(g, u),
                    .weight = e->parameters + l->weight,
                    .bias = e->parameters + l->bias,
                    .seed = e->options.seed,
                    .samples = g->samples,
                    .scratch = g->member->scratch,
                    .dy = g->memory + u->dy.offset,
                    .dx = dx,
                    .dweight = g->gradients ? g->gradients + l->weight : NULL,
                    .dbias = g->gradients ? g->gradients + l->bias : NULL,
                    .accumulate = g->accumulate};
    if (g->group && e->batch->ids) {
        t.ids = e->batch->ids + g->group->first;
        const group *leader = g->group;
        while (!leader->leads) leader--;
        t.leader = e->batch->ids[leader->first];
        t.epoch = e->batch->epoch;
    }
    if (!layer_has_second(l)) return t;
    t.second = group_view(g, u->second, layer_second_shape(l));
    t.dsecond = second->gradient ? g->memory + u->second_dx.offset : NULL;
    t.second_adds = second->adds;
    return t;
}

static float *moved(float *p, size_t floats) {
    return p ? p + floats : NULL;
}

// Some channels of a layer that computes them apart.
static layer_task channels_of(const layer_task *whole, slice_range channels, size_t lanes) {
    layer_task t = *whole;
    const size_t first = (size_t)channels.first;
    const size_t x = first * (size_t)(t.x.height * t.x.width) * lanes;
    const size_t second = first * (size_t)(t.second.height * t.second.width) * lanes;
    const size_t features = first * (size_t)(t.y.height * t.y.width), y = features * lanes;
    t.x = view_part(t.x, (slice_area){{0, t.x.height}, channels});
    t.y = view_part(t.y, (slice_area){{0, t.y.height}, channels});
    if (t.second.data) t.second = view_part(t.second, (slice_area){{0, t.second.height}, channels});
    t.choices += y;
    t.feature = features;
    t.dy += y;
    t.dx = moved(t.dx, x);
    t.dsecond = moved(t.dsecond, second);
    if (layer_weights(t.l) == 0) return t;
    t.weight += first;
    t.bias += first;
    t.dweight = moved(t.dweight, first);
    t.dbias = moved(t.dbias, first);
    return t;
}

// The slice's part of the layer. Returns false if it has none.
static bool cut(const group_work *g, layer_task *t) {
    if (g->slice.count == 1) return true;
    const int channels = t->x.channels;
    const int units = layer_traits_of(t->l)->apart == APART_GROUPS ? t->l->groups : channels;
    const slice_range r = slice_of(g->slice, units);
    *t = channels_of(t, (slice_range){r.first * (channels / units), r.end * (channels / units)},
                     lanes_of(g));
    return r.first < r.end;
}

void unfused_forward(const group_work *g, const unit *u) {
    layer_task t = task_of(g, u, NULL);
    if (cut(g, &t)) g->e->kernels->layers[t.l->kind].forward(&t);
}

void unfused_backward(const group_work *g, const unit *u, float *dx) {
    layer_task t = task_of(g, u, dx);
    if (cut(g, &t)) g->e->kernels->layers[t.l->kind].backward(&t);
}

// ---- The anchors ----

const cpu_anchor cpu_anchors[LAYER_KINDS] = {
    [LAYER_CONV] = {convolution_forward, convolution_input, convolution_weights},
    [LAYER_LINEAR] = {linear_forward, linear_input, linear_weights},
};
