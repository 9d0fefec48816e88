// SPDX-License-Identifier: MIT
// The convolution of a unit on one group of samples: forward, and its gradients. With groups of
// channels it is several convolutions, one after another, of a part of the channels each.
#include "compute/cpu/convolution.h"

static view part_of(view v, const layer *l, int part) {
    v.channels /= layer_groups(l);
    v.data += (size_t)(part * v.channels) * v.plane;
    return v;
}

// Without its weights.
static conv_task task_of(const group_work *g, const unit *u, int part) {
    const layer *l = u->layers->anchor;
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
    for (int part = 0; part < layer_groups(u->layers->anchor); part++) {
        conv_task t = task_of(g, u, part);
        t.packed = g->e->packed + u->packed + (size_t)part * u->packed_part;
        g->e->kernels->conv(&t, u->block);
    }
}

// The strides and padding are the layer's.
static conv_task input_task(const group_work *g, const unit *u, float *dx, int part) {
    const layer *l = u->layers->anchor;
    view out = place_view(u->dx, g->memory);
    out.data = dx;
    conv_task t = task_of(g, u, part);
    t.in = part_of(place_view(u->z, g->memory), l, part);
    t.out = part_of(out, l, part);
    t.bias = NULL;
    return t;
}

void convolution_input(const group_work *g, const unit *u, float *dx) {
    for (int part = 0; part < layer_groups(u->layers->anchor); part++) {
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
    const layer *l = u->layers->anchor;
    conv_task t = input_task(g, u, dx, 0);
    t.packed = filters;
    t.pad_y = l->kernel_h - 1 - l->pad_h;
    t.pad_x = l->kernel_w - 1 - l->pad_w;
    return t;
}

void convolution_weights(const group_work *g, const unit *u, float *dw, float *db) {
    const layer *l = u->layers->anchor;
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
