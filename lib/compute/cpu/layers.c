// SPDX-License-Identifier: MIT
// The layers that begin a unit, on one group of samples: builds the tasks of their kernels.
#include "compute/cpu/layers.h"

#include <math.h>

#include "compute/cpu/convolution.h"

// ---- Anchors; convolution.c has the other ----

static void linear_forward(const group_work *g, const unit *u) {
    const layer *l = u->layers.anchor;
    const linear_task t = {.inputs = (int)shape_size(l->in),
                           .outputs = (int)shape_size(l->out),
                           .weight = g->e->parameters + l->weight,
                           .bias = l->has_bias ? g->e->parameters + l->bias : NULL,
                           .x = group_memory(g, u->x) + u->x.offset,
                           .z = g->memory + u->z.offset};
    g->e->kernels->linear(&t);
}

static void linear_input(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers.anchor;
    const linear_task t = {.inputs = (int)shape_size(l->in),
                           .outputs = (int)shape_size(l->out),
                           .weight = g->e->parameters + l->weight,
                           .x = g->memory + u->z.offset,
                           .z = dx};
    g->e->kernels->linear_transposed(&t);
}

static void linear_weights(const group_work *g, const unit *u, float *dw, float *db) {
    const layer *l = u->layers.anchor;
    const linear_weight_task t = {.inputs = (int)shape_size(l->in),
                                  .outputs = (int)shape_size(l->out),
                                  .x = group_memory(g, u->x) + u->x.offset,
                                  .dz = g->memory + u->z.offset,
                                  .dw = dw,
                                  .db = db,
                                  .scratch = g->member->scratch,
                                  .accumulate = g->accumulate};
    g->e->kernels->linear_weight(&t);
}

// ---- Unfused layers ----

static pool_task pooling(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers.unfused;
    return (pool_task){.x = place_view(u->x, g->memory),
                       .y = place_view(u->y, g->memory),
                       .argmax = group_choices(g, u),
                       .kernel_h = l->kernel_h,
                       .kernel_w = l->kernel_w,
                       .stride_y = l->stride_h,
                       .stride_x = l->stride_w,
                       .pad_y = l->pad_h,
                       .pad_x = l->pad_w,
                       .dy = g->memory + u->dy.offset,
                       .dx = dx};
}

static void max_pool(const group_work *g, const unit *u) {
    const pool_task t = pooling(g, u, NULL);
    g->e->kernels->max_pool(&t);
}

static void max_pool_backward(const group_work *g, const unit *u, float *dx) {
    const pool_task t = pooling(g, u, dx);
    g->e->kernels->max_pool_backward(&t);
}

static void average_pool(const group_work *g, const unit *u) {
    const pool_task t = pooling(g, u, NULL);
    g->e->kernels->average_pool(&t);
}

static void average_pool_backward(const group_work *g, const unit *u, float *dx) {
    const pool_task t = pooling(g, u, dx);
    g->e->kernels->average_pool_backward(&t);
}

// Random numbers are compared with the rate as floats; comparing integers gives the same result.
static dropout_task dropping(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers.unfused;
    return (dropout_task){.x = group_view(g, u->x, u->y.size),
                          .y = place_view(u->y, g->memory),
                          .kept = (int8_t *)group_choices(g, u),
                          .scale = (float)(1 / (1 - l->rate)),
                          .threshold = (uint32_t)ceil((double)(float)l->rate * 0x1p24),
                          .stream = {.seed = layer_seed(l, g->e->options.seed),
                                     .purpose = RANDOM_DROPOUT,
                                     .epoch = g->e->batch->epoch},
                          .ids = g->e->batch->ids + g->group->first,
                          .samples = g->samples,
                          .dy = g->memory + u->dy.offset,
                          .dx = dx};
}

// In inference nothing is dropped.
static void dropout(const group_work *g, const unit *u) {
    if (g->group) {
        const dropout_task t = dropping(g, u, NULL);
        g->e->kernels->dropout(&t);
        return;
    }
    const view x = group_view(g, u->x, u->y.size), y = place_view(u->y, g->memory);
    g->e->kernels->sum(&x, NULL, &y);
}

static void dropout_backward(const group_work *g, const unit *u, float *dx) {
    const dropout_task t = dropping(g, u, dx);
    g->e->kernels->dropout_backward(&t);
}

static activation_task activating(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers.unfused;
    return (activation_task){.kind = layer_traits_of(l)->activation,
                             .x = group_view(g, u->x, u->y.size),
                             .y = place_view(u->y, g->memory),
                             .factor = (float)l->factor,
                             .dy = g->memory + u->dy.offset,
                             .dx = dx};
}

static void activation(const group_work *g, const unit *u) {
    const activation_task t = activating(g, u, NULL);
    g->e->kernels->activation(&t);
}

static void activation_backward(const group_work *g, const unit *u, float *dx) {
    const activation_task t = activating(g, u, dx);
    g->e->kernels->activation_backward(&t);
}

static group_norm_task normalising(const group_work *g, const unit *u, float *dx) {
    const layer *l = u->layers.unfused;
    return (group_norm_task){.x = group_view(g, u->x, u->y.size),
                             .y = place_view(u->y, g->memory),
                             .groups = l->groups,
                             .eps = (float)l->eps,
                             .weight = g->e->parameters + l->weight,
                             .bias = g->e->parameters + l->bias,
                             .dy = g->memory + u->dy.offset,
                             .dx = dx,
                             .dweight = g->gradients ? g->gradients + l->weight : NULL,
                             .dbias = g->gradients ? g->gradients + l->bias : NULL,
                             .accumulate = g->accumulate};
}

static void group_norm(const group_work *g, const unit *u) {
    const group_norm_task t = normalising(g, u, NULL);
    g->e->kernels->group_norm(&t);
}

static void group_norm_backward(const group_work *g, const unit *u, float *dx) {
    const group_norm_task t = normalising(g, u, dx);
    g->e->kernels->group_norm_backward(&t);
}

// ---- The kinds ----

const cpu_layer cpu_layers[LAYER_KINDS] = {
    [LAYER_CONV] = {convolution_forward, convolution_input, convolution_weights},
    [LAYER_LINEAR] = {linear_forward, linear_input, linear_weights},
    [LAYER_MAX_POOL] = {.forward = max_pool, .backward = max_pool_backward},
    [LAYER_AVG_POOL] = {.forward = average_pool, .backward = average_pool_backward},
    [LAYER_DROPOUT] = {.forward = dropout, .backward = dropout_backward},
    [LAYER_GELU] = {.forward = activation, .backward = activation_backward},
    [LAYER_SILU] = {.forward = activation, .backward = activation_backward},
    [LAYER_SCALE] = {.forward = activation, .backward = activation_backward},
    [LAYER_GROUP_NORM] = {.forward = group_norm, .backward = group_norm_backward},
};
