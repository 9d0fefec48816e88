// SPDX-License-Identifier: MIT
// The convolution of a unit on one group of samples: forward, and its gradients. With groups of
// channels it is several convolutions, one after another, of a part of the channels each.
#include "compute/cpu/engine.h"

static view part_of(view v, const layer *l, int part) {
    v.channels /= layer_groups(l);
    v.data += (size_t)(part * v.channels) * v.plane;
    return v;
}

// Without its weights.
static conv_task task_of(const group_work *g, const unit *u, int part) {
    const layer *l = u->layers.anchor;
    const int outputs = l->out.channels / layer_groups(l);
    return (conv_task){.in = part_of(place_view(u->x, group_memory(g, u->x)), l, part),
                       .out = part_of(place_view(u->z, g->memory), l, part),
                       .bias = l->has_bias ? g->e->parameters + l->bias + part * outputs : NULL,
                       .scratch = g->member->scratch,
                       .kernel_h = l->kernel_h,
                       .kernel_w = l->kernel_w,
                       .stride_y = l->stride_h,
                       .stride_x = l->stride_w,
                       .pad_y = l->pad_h,
                       .pad_x = l->pad_w};
}

void convolution_forward(const group_work *g, const unit *u) {
    for (int part = 0; part < layer_groups(u->layers.anchor); part++) {
        conv_task t = task_of(g, u, part);
        t.packed = g->e->packed + u->packed + (size_t)part * u->packed_part;
        g->e->kernels->conv(&t, u->block);
    }
}

// The strides and padding are the layer's.
static conv_task input_task(const group_work *g, const unit *u, float *dx, int part) {
    const layer *l = u->layers.anchor;
    view out = place_view(u->dx, g->memory);
    out.data = dx;
    conv_task t = task_of(g, u, part);
    t.in = part_of(place_view(u->z, g->memory), l, part);
    t.out = part_of(out, l, part);
    t.bias = NULL;
    return t;
}

void convolution_input(const group_work *g, const unit *u, float *dx) {
    for (int part = 0; part < layer_groups(u->layers.anchor); part++) {
        conv_task t = input_task(g, u, dx, part);
        t.packed = g->e->packed + u->packed_transposed + (size_t)part * u->packed_transposed_part;
        g->e->kernels->conv_input(&t, u->block_transposed);
    }
}

conv_task convolution_winograd(const group_work *g, const unit *u, const float *filters) {
    conv_task t = task_of(g, u, 0);
    t.packed = filters;
    return t;
}

conv_task convolution_winograd_input(const group_work *g, const unit *u, const float *filters,
                                     float *dx) {
    const layer *l = u->layers.anchor;
    conv_task t = input_task(g, u, dx, 0);
    t.packed = filters;
    t.pad_y = l->kernel_h - 1 - l->pad_h;
    t.pad_x = l->kernel_w - 1 - l->pad_w;
    return t;
}

void convolution_weights(const group_work *g, const unit *u, float *dw, float *db) {
    const layer *l = u->layers.anchor;
    const int outputs = l->out.channels / layer_groups(l);
    const size_t weights = layer_weights(l) / (size_t)layer_groups(l);
    for (int part = 0; part < layer_groups(l); part++) {
        const conv_weight_task t = {.in = part_of(place_view(u->x, group_memory(g, u->x)), l, part),
                                    .dout = part_of(place_view(u->z, g->memory), l, part),
                                    .dw = dw + (size_t)part * weights,
                                    .db = db ? db + part * outputs : NULL,
                                    .scratch = g->member->scratch,
                                    .accumulate = g->accumulate,
                                    .kernel_h = l->kernel_h,
                                    .kernel_w = l->kernel_w,
                                    .stride_y = l->stride_h,
                                    .stride_x = l->stride_w,
                                    .pad_y = l->pad_h,
                                    .pad_x = l->pad_w};
        (u->winograd ? g->e->kernels->winograd_weight : g->e->kernels->conv_weight)(&t);
    }
}

// ---- Packed weights ----

void convolution_pack(const engine *e, const unit *u, bool transpose) {
    const layer part = layer_part(u->layers.anchor);
    const float *weight = e->parameters + u->layers.anchor->weight;
    float *packed = e->packed + (transpose ? u->packed_transposed : u->packed);
    for (int i = 0; i < layer_groups(u->layers.anchor); i++) {
        conv_pack(&part, weight, transpose ? u->block_transposed : u->block, transpose, packed);
        weight += layer_weights(&part);
        packed += transpose ? u->packed_transposed_part : u->packed_part;
    }
}

// ---- The filters of Winograd's algorithm ----

void filters_transform(const engine *e, const cpu_plan *p, int first, int end, int member) {
    const int members = team_size(e->team);
    for (int i = first; i < end; i++) {
        const operation *op = &p->steps.operations[i];
        if (!is_winograd(e, op)) continue;
        const layer *l = engine_unit(e, op)->layers.anchor;
        const bool transpose = op->kind == OP_ANCHOR_INPUT;
        const int blocks = winograd_packed_blocks(l, transpose);
        e->kernels->winograd_pack(l, e->parameters + l->weight, transpose,
                                  blocks * member / members, blocks * (member + 1) / members,
                                  p->filters + p->filters_at[i]);
    }
}
