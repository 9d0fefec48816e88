// SPDX-License-Identifier: MIT
// The layers that begin a unit, on one group of samples: builds the tasks of their kernels.
#include "compute/cpu/layers.h"

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

static layer_task task_of(const group_work *g, const unit *u, float *dx) {
    const execution *e = g->e;
    const layer *l = u->layers.unfused;
    const unit_source *second = &u->layers.second;
    layer_task t = {.l = l,
                    .x = group_view(g, u->x, l->in),
                    .y = place_view(u->y, g->memory),
                    .choices = group_choices(g, u),
                    .weight = e->parameters + l->weight,
                    .bias = e->parameters + l->bias,
                    .seed = e->options.seed,
                    .samples = g->samples,
                    .dy = g->memory + u->dy.offset,
                    .dx = dx,
                    .dweight = g->gradients ? g->gradients + l->weight : NULL,
                    .dbias = g->gradients ? g->gradients + l->bias : NULL,
                    .accumulate = g->accumulate};
    if (g->group && e->batch->ids) {
        t.ids = e->batch->ids + g->group->first;
        t.epoch = e->batch->epoch;
    }
    if (!layer_has_second(l)) return t;
    t.second = group_view(g, u->second, layer_second_shape(l));
    t.dsecond = second->gradient ? g->memory + u->second_dx.offset : NULL;
    t.second_adds = second->adds;
    return t;
}

void unfused_forward(const group_work *g, const unit *u) {
    const layer_task t = task_of(g, u, NULL);
    g->e->kernels->layers[t.l->kind].forward(&t);
}

void unfused_backward(const group_work *g, const unit *u, float *dx) {
    const layer_task t = task_of(g, u, dx);
    g->e->kernels->layers[t.l->kind].backward(&t);
}

// ---- The anchors ----

const cpu_anchor cpu_anchors[LAYER_KINDS] = {
    [LAYER_CONV] = {convolution_forward, convolution_input, convolution_weights},
    [LAYER_LINEAR] = {linear_forward, linear_input, linear_weights},
};
