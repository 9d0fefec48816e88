// SPDX-License-Identifier: MIT
// Launches the kernels of unfused layers.
#include "compute/cuda/run/cuda_engine.h"

typedef void launch(launch_stream s, const cut *c, const cuda_layer_task *t);

#define ROW(to, KIND, word, ...) [LAYER_##KIND] = {cuda_##word, cuda_##word##_backward},
static const struct { launch *forward, *backward; } layers[LAYER_KINDS] = {UNFUSED_LAYERS(ROW, )};

static cuda_layer_task task_of(const engine *e, const cuda_unit *u, bool training) {
    cuda_layer_task t = u->layer;
    t.ids = training ? e->input.device.ids : NULL;
    t.numbers = e->input.device.numbers;
    return t;
}

void cuda_unfused(const engine *e, const cut *c, const cuda_unit *u, bool training) {
    const cuda_layer_task t = task_of(e, u, training);
    layers[t.l->kind].forward(cuda_main(&e->device), c, &t);
}

void cuda_unfused_backward(const engine *e, const cut *c, const cuda_unit *u) {
    const cuda_layer_task t = task_of(e, u, true);
    layers[t.l->kind].backward(cuda_main(&e->device), c, &t);
}
