// SPDX-License-Identifier: MIT
// The convolution of a unit on one group of samples: forward, and its gradients. With groups of
// channels it is several convolutions, one after another, of a part of the channels each. A slice
// of a convolution is one of fewer rows, channels or filters; only those by Winograd's algorithm,
// whose patches serve all outputs, are cut inside the kernels.
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

// The blocks of outputs in the columns of a slice that are those of a part, as outputs.
static slice_range outputs_of(slice_range columns, int part, int blocks, int block, int outputs) {
    const int first = columns.first - part * blocks, end = columns.end - part * blocks;
    const slice_range r = {first > 0 ? first * block : 0, end * block};
    return (slice_range){r.first, r.end < outputs ? r.end : outputs};
}

void convolution_forward(const group_work *g, const unit *u) {
    const layer part = layer_part(u->layers->anchor);
    const int parts = layer_groups(u->layers->anchor);
    const int outputs = part.out.channels, blocks = blocks_of(outputs, u->block);
    const slice_area own = slice_area_of(g->slice, part.out.height, parts * blocks);
    if (slice_is_empty(own)) return;
    for (int i = own.columns.first / blocks; i * blocks < own.columns.end; i++) {
        const slice_range channels = outputs_of(own.columns, i, blocks, u->block, outputs);
        conv_task t = task_of(g, u, i);
        t.packed = g->e->packed + u->packed + (size_t)i * u->packed_part +
                   (size_t)channels.first * (layer_weights(&part) / (size_t)outputs);
        t.out = view_part(t.out, (slice_area){own.rows, channels});
        t.pad_y -= own.rows.first * t.stride_y;
        if (t.bias) t.bias += channels.first;
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
    const layer part = layer_part(u->layers->anchor);
    const int parts = layer_groups(u->layers->anchor), block = u->block_transposed;
    const int outputs = part.in.channels, blocks = blocks_of(outputs, block);
    const slice_area own = slice_area_of(g->slice, part.in.height, parts * blocks);
    if (slice_is_empty(own)) return;
    for (int i = own.columns.first / blocks; i * blocks < own.columns.end; i++) {
        const slice_range channels = outputs_of(own.columns, i, blocks, block, outputs);
        conv_task t = input_task(g, u, dx, i);
        t.packed = g->e->packed + u->packed_transposed + (size_t)i * u->packed_transposed_part;
        t.packed_first = channels.first;
        t.packed_outputs = blocks * block;
        t.out = view_part(t.out, (slice_area){own.rows, channels});
        t.pad_y += own.rows.first;
        g->e->kernels->conv_input(&t, block);
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

static conv_weight_task weight_task(const group_work *g, const unit *u, float *dw, float *db) {
    const layer *l = u->layers->anchor;
    return (conv_weight_task){.in = place_view(u->x, group_memory(g, u->x)),
                              .dout = place_view(u->z, g->memory),
                              .dw = dw,
                              .db = db,
                              .scratch = g->member->scratch,
                              .accumulate = g->accumulate,
                              .kernel_h = l->kernel_h,
                              .kernel_w = l->kernel_w,
                              .stride_y = l->stride_h,
                              .stride_x = l->stride_w,
                              .pad_y = l->pad_h,
                              .pad_x = l->pad_w};
}

// The threads of a crew share a block's patches, which lie in the memory of the first or the second
// of them in turn: while one still reads a block's, the others may write the next one's.
static void winograd_weights(const group_work *g, const conv_weight_task *t) {
    const kernels *k = g->e->kernels;
    const int blocks = k->winograd_weight_blocks(t);
    const slice_range own = slice_of(g->slice, t->dout.channels);
    if (g->slice.count == 1) {
        k->winograd_weight(t);
        return;
    }
    for (int i = 0; i < blocks; i++) {
        float *patches = g->mates[(g->index * blocks + i) % 2].scratch;
        k->winograd_weight_patches(t, i, g->slice, patches);
        team_meet(g->team, g->crew);
        k->winograd_weight_sums(t, i, own.first, own.end, patches);
    }
}

// Of some outputs of one part of the channels, from some of its inputs. The first input's filters
// bring their biases.
static void cut_weights(conv_weight_task *t, const layer *part, int i, slice_range inputs,
                        slice_range outputs) {
    const size_t window = (size_t)(part->kernel_h * part->kernel_w);
    const int in = i * part->in.channels, out = i * part->out.channels;
    const slice_range of_in = {in + inputs.first, in + inputs.end};
    const slice_range of_out = {out + outputs.first, out + outputs.end};
    t->in = view_part(t->in, (slice_area){{0, t->in.height}, of_in});
    t->dout = view_part(t->dout, (slice_area){{0, t->dout.height}, of_out});
    t->dw_row = (size_t)part->in.channels * window;
    t->dw += (size_t)of_out.first * t->dw_row + (size_t)inputs.first * window;
    t->db = t->db && inputs.first == 0 ? t->db + of_out.first : NULL;
}

void convolution_weights(const group_work *g, const unit *u, float *dw, float *db) {
    const layer part = layer_part(u->layers->anchor);
    const int parts = layer_groups(u->layers->anchor), outputs = part.out.channels;
    const conv_weight_task whole = weight_task(g, u, dw, db);
    if (u->winograd) {
        winograd_weights(g, &whole);
        return;
    }
    const slice_area own = slice_area_of(g->slice, part.in.channels, parts * outputs);
    if (slice_is_empty(own)) return;
    for (int i = own.columns.first / outputs; i * outputs < own.columns.end; i++) {
        conv_weight_task t = whole;
        cut_weights(&t, &part, i, own.rows, outputs_of(own.columns, i, outputs, 1, outputs));
        g->e->kernels->conv_weight(&t);
    }
}
