// SPDX-License-Identifier: MIT
// Launches the kernels of unfused layers.
#include "compute/cuda/run/cuda_engine.h"

static void pool(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    (void)training;
    cuda_pool(cuda_main(&e->device), c, &u->pool);
}

static void pool_backward(const engine *e, const cut *c, const cuda_unit *u) {
    cuda_pool_backward(cuda_main(&e->device), c, &u->pool);
}

static dropout_task dropout_of(const engine *e, const cuda_unit *u) {
    dropout_task t = u->dropout;
    t.ids = e->input.device.ids;
    t.numbers = e->input.device.numbers;
    return t;
}

// In inference nothing is dropped.
static void dropout(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    dropout_task t = dropout_of(e, u);
    if (!training) t.threshold = 0, t.factor = 1;
    cuda_dropout(cuda_main(&e->device), c, &t);
}

static void dropout_backward(const engine *e, const cut *c, const cuda_unit *u) {
    dropout_task t = dropout_of(e, u);
    t.from = u->dy;
    t.to = u->dx;
    cuda_dropout(cuda_main(&e->device), c, &t);
}

static void activation(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    (void)training;
    cuda_activation(cuda_main(&e->device), c, &u->activation);
}

static void activation_backward(const engine *e, const cut *c, const cuda_unit *u) {
    cuda_activation_backward(cuda_main(&e->device), c, &u->activation);
}

static void group_norm(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    (void)training;
    cuda_group_norm(cuda_main(&e->device), c, &u->group_norm);
}

static void group_norm_backward(const engine *e, const cut *c, const cuda_unit *u) {
    cuda_group_norm_backward(cuda_main(&e->device), c, &u->group_norm);
}

// ---- The kinds ----

static const struct {
    void (*forward)(const engine *e, const cut *c, const cuda_unit *u, bool training);
    void (*backward)(const engine *e, const cut *c, const cuda_unit *u);
} layers[LAYER_KINDS] = {
    [LAYER_MAX_POOL] = {pool, pool_backward},
    [LAYER_AVG_POOL] = {pool, pool_backward},
    [LAYER_DROPOUT] = {dropout, dropout_backward},
    [LAYER_GELU] = {activation, activation_backward},
    [LAYER_SILU] = {activation, activation_backward},
    [LAYER_SCALE] = {activation, activation_backward},
    [LAYER_GROUP_NORM] = {group_norm, group_norm_backward},
};

void cuda_unfused(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    layers[u->layers.unfused->kind].forward(e, c, u, training);
}

void cuda_unfused_backward(const engine *e, const cut *c, const cuda_unit *u) {
    layers[u->layers.unfused->kind].backward(e, c, u);
}
