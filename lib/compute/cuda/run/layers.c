// SPDX-License-Identifier: MIT
// Layers that are a unit by themselves: builds the tasks of their kernels.
#include <math.h>

#include "compute/cuda/engine.h"

static pool_task pool_of(const cuda_unit *u) {
    const layer *l = u->layers.alone;
    return (pool_task){.in = l->in,
                       .out = l->out,
                       .kernel_h = l->kernel_h,
                       .kernel_w = l->kernel_w,
                       .stride_y = l->stride_h,
                       .stride_x = l->stride_w,
                       .pad_y = l->pad_h,
                       .pad_x = l->pad_w,
                       .max = l->kind == LAYER_MAX_POOL,
                       .x = u->x,
                       .y = u->y,
                       .winner = u->winner,
                       .dy = u->dy,
                       .dx = u->dx};
}

static void pool(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    const pool_task t = pool_of(u);
    (void)training;
    cuda_pool(cuda_main(e), c, &t);
}

static void pool_backward(const engine *e, const cut *c, const cuda_unit *u) {
    const pool_task t = pool_of(u);
    cuda_pool_backward(cuda_main(e), c, &t);
}

// Random numbers are compared with the rate as floats; comparing integers is equivalent.
static dropout_task dropout_of(const engine *e, const cuda_unit *u, bool training) {
    const layer *l = u->layers.alone;
    return (dropout_task){.features = shape_size(u->layers.y),
                          .seed = layer_seed(l, e->options.seed),
                          .threshold =
                              training ? (uint32_t)ceil((double)(float)l->rate * 0x1p24) : 0,
                          .factor = training ? (float)(1 / (1 - l->rate)) : 1,
                          .ids = e->device.ids,
                          .numbers = e->device.numbers,
                          .from = u->x,
                          .to = u->y};
}

static void dropout(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    const dropout_task t = dropout_of(e, u, training);
    cuda_dropout(cuda_main(e), c, &t);
}

static void dropout_backward(const engine *e, const cut *c, const cuda_unit *u) {
    dropout_task t = dropout_of(e, u, true);
    t.from = u->dy;
    t.to = u->dx;
    cuda_dropout(cuda_main(e), c, &t);
}

static activation_task activation_of(const cuda_unit *u) {
    const layer *l = u->layers.alone;
    return (activation_task){.kind = cuda_activation_of(l),
                             .factor = (float)l->factor,
                             .features = shape_size(u->layers.y),
                             .x = u->x,
                             .y = u->y,
                             .dy = u->dy,
                             .dx = u->dx};
}

static void activation(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    const activation_task t = activation_of(u);
    (void)training;
    cuda_activation(cuda_main(e), c, &t);
}

static void activation_backward(const engine *e, const cut *c, const cuda_unit *u) {
    const activation_task t = activation_of(u);
    cuda_activation_backward(cuda_main(e), c, &t);
}

static group_norm_task group_norm_of(const engine *e, const cuda_unit *u) {
    const layer *l = u->layers.alone;
    return (group_norm_task){.size = u->layers.x,
                             .groups = l->groups,
                             .eps = (float)l->eps,
                             .weight = e->parameters + l->weight,
                             .bias = e->parameters + l->bias,
                             .x = u->x,
                             .y = u->y,
                             .dy = u->dy,
                             .dx = u->dx,
                             .parts = e->norm.parts,
                             .records = {e->records, e->stride},
                             .weight_at = l->weight,
                             .bias_at = l->bias};
}

static void group_norm(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    const group_norm_task t = group_norm_of(e, u);
    (void)training;
    cuda_group_norm(cuda_main(e), c, &t);
}

static void group_norm_backward(const engine *e, const cut *c, const cuda_unit *u) {
    const group_norm_task t = group_norm_of(e, u);
    cuda_group_norm_backward(cuda_main(e), c, &t);
}

// ---- The kinds ----

typedef struct cuda_layer {
    void (*forward)(const engine *e, const cut *c, const cuda_unit *u, bool training);
    void (*backward)(const engine *e, const cut *c, const cuda_unit *u);
    activation_kind activation; // of the kernels, alone or in a tail
} cuda_layer;

static const cuda_layer layers[LAYER_KINDS] = {
    [LAYER_MAX_POOL] = {pool, pool_backward, ACTIVATION_NONE},
    [LAYER_AVG_POOL] = {pool, pool_backward, ACTIVATION_NONE},
    [LAYER_DROPOUT] = {dropout, dropout_backward, ACTIVATION_NONE},
    [LAYER_GELU] = {activation, activation_backward, ACTIVATION_GELU},
    [LAYER_SILU] = {activation, activation_backward, ACTIVATION_SILU},
    [LAYER_SCALE] = {activation, activation_backward, ACTIVATION_SCALE},
    [LAYER_GROUP_NORM] = {group_norm, group_norm_backward, ACTIVATION_NONE},
};

activation_kind cuda_activation_of(const layer *l) {
    return layers[l->kind].activation;
}

void cuda_alone(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    layers[u->layers.alone->kind].forward(e, c, u, training);
}

void cuda_alone_backward(const engine *e, const cut *c, const cuda_unit *u) {
    layers[u->layers.alone->kind].backward(e, c, u);
}
