// SPDX-License-Identifier: MIT
// The operations of a step on one group: builds the tasks of the kernels from units and places.
#include <math.h>
#include <string.h>

#include "compute/cpu/engine.h"

static uint8_t *winners(const group_work *g, const unit *u) {
    return (uint8_t *)(g->memory + g->e->placement.floats) + u->winner;
}

// A place without borders as a view of another shape: flatten changes the shape, but not the
// memory.
static view view_as(const group_work *g, place p, shape s) {
    const size_t row = (size_t)s.width * (size_t)g->e->kernels->lanes;
    if (p.size.channels == s.channels && p.size.height == s.height && p.size.width == s.width)
        return place_view(p, g->memory);
    return (view){g->memory + p.offset, s.channels, s.height, s.width, row, (size_t)s.height * row};
}

// z = x, or x plus the second source.
static void run_sum(const group_work *g, const unit *u) {
    const shape s = u->layers.sum ? u->layers.x : u->x.size;
    const view x = view_as(g, u->x, s), z = view_as(g, u->z, s);
    const view second = u->layers.sum ? view_as(g, u->second, s) : x;
    g->e->kernels->sum(&x, u->layers.sum ? &second : NULL, &z);
}

// Of the logits, or of their gradients.
static void scale_logits(const group_work *g, const unit *u) {
    const view z = place_view(u->z, g->memory);
    const activation_task t = {.kind = ACTIVATION_SCALE,
                               .x = z,
                               .y = z,
                               .factor = (float)(u->layers.scale ? u->layers.scale->factor : 1)};
    if (u->layers.scale) g->e->kernels->activation(&t);
}

static void run_core(const group_work *g, const unit *u) {
    if (!u->layers.core) {
        run_sum(g, u);
    } else if (u->layers.core->kind == LAYER_CONV) {
        convolution_forward(g, u);
    } else {
        const layer *l = u->layers.core;
        const linear_task t = {.inputs = (int)shape_size(l->in),
                               .outputs = (int)shape_size(l->out),
                               .weight = g->e->parameters + l->weight,
                               .bias = l->has_bias ? g->e->parameters + l->bias : NULL,
                               .x = group_memory(g, u->x) + u->x.offset,
                               .z = g->memory + u->z.offset};
        g->e->kernels->linear(&t);
        scale_logits(g, u);
    }
}

// The gradient of an operand of a sum is that of the sum.
static void pass_gradient(const group_work *g, const float *gradient, unit_source source,
                          place dx) {
    const size_t floats = shape_size(dx.size) * (size_t)g->e->kernels->lanes;
    if (!source.gradient) return;
    if (source.adds)
        g->e->kernels->add(g->memory + dx.offset, gradient, floats);
    else
        memcpy(g->memory + dx.offset, gradient, floats * sizeof *gradient);
}

// Where the kernels of a unit write the gradient of x: to its place, or apart if it is added to the
// gradient there.
static float *input_gradient(const group_work *g, const unit *u) {
    if (u->layers.first) return NULL;
    return u->layers.source.adds ? g->added : g->memory + u->dx.offset;
}

static void add_input_gradient(const group_work *g, const unit *u) {
    if (u->layers.first || !u->layers.source.adds) return;
    g->e->kernels->add(g->memory + u->dx.offset, g->added,
                       shape_size(u->dx.size) * (size_t)g->e->kernels->lanes);
}

static void run_linear_input(const group_work *g, const unit *u) {
    const layer *l = u->layers.core;
    const linear_task t = {.inputs = (int)shape_size(l->in),
                           .outputs = (int)shape_size(l->out),
                           .weight = g->e->parameters + l->weight,
                           .x = g->memory + u->z.offset,
                           .z = input_gradient(g, u)};
    g->e->kernels->linear_transposed(&t);
}

static void run_core_input(const group_work *g, const unit *u) {
    if (!u->layers.core) {
        pass_gradient(g, g->memory + u->z.offset, u->layers.source, u->dx);
        if (u->layers.sum)
            pass_gradient(g, g->memory + u->z.offset, u->layers.second, u->second_dx);
        return;
    }
    if (u->layers.core->kind == LAYER_LINEAR)
        run_linear_input(g, u);
    else
        convolution_input(g, u, input_gradient(g, u));
    add_input_gradient(g, u);
}

static void run_core_weights(const group_work *g, const unit *u) {
    const layer *l = u->layers.core;
    float *dw = g->record + l->weight, *db = l->has_bias ? g->record + l->bias : NULL;
    if (l->kind == LAYER_LINEAR) {
        const linear_weight_task t = {.inputs = (int)shape_size(l->in),
                                      .outputs = (int)shape_size(l->out),
                                      .x = group_memory(g, u->x) + u->x.offset,
                                      .dz = g->memory + u->z.offset,
                                      .dw = dw,
                                      .db = db,
                                      .scratch = g->member->scratch,
                                      .accumulate = g->accumulate};
        g->e->kernels->linear_weight(&t);
        return;
    }
    convolution_weights(g, u, dw, db);
}

static activation_kind activation_of(const layer *l) {
    return l->kind == LAYER_GELU   ? ACTIVATION_GELU
           : l->kind == LAYER_SILU ? ACTIVATION_SILU
                                   : ACTIVATION_SCALE;
}

static activation_kind tail_activation(const unit_layers *u) {
    if (u->smooth) return activation_of(u->smooth);
    return u->relu ? ACTIVATION_RELU : ACTIVATION_NONE;
}

static tail_task tail(const group_work *g, const unit *u) {
    const engine *e = g->e;
    tail_task t = {.z = place_view(u->z, g->memory),
                   .y = place_view(u->y, group_memory(g, u->y)),
                   .winner = winners(g, u),
                   .activation = tail_activation(&u->layers),
                   .pool = u->layers.pool,
                   .adds = u->layers.plus,
                   .samples = g->samples,
                   .dy = g->memory + u->dy.offset};
    if (t.adds) t.second = view_as(g, u->second, u->z.size);
    if (!u->layers.norm) return t;
    if (!g->group) {
        t.scale = e->norm.run_scale + u->layers.norm_channel;
        t.shift = e->norm.run_shift + u->layers.norm_channel;
        return t;
    }
    const size_t channels = e->placement.norm_channels;
    const size_t shard = (size_t)g->group->shard * channels + u->layers.norm_channel;
    const size_t own = (size_t)g->index * channels + u->layers.norm_channel;
    t.scale = e->norm.scale + shard;
    t.shift = e->norm.shift + shard;
    t.mean = e->norm.mean + shard;
    t.mean_rest = e->norm.mean_rest + shard;
    t.inv_std = e->norm.inv_std + shard;
    t.sum_dy = e->norm.group_dy + own;
    t.sum_dy_xhat = e->norm.group_dy_xhat + own;
    t.from_dy = e->norm.from_dy + shard;
    t.from_z = e->norm.from_z + shard;
    t.from_one = e->norm.from_one + shard;
    return t;
}

// Behind a sum, dy is already the gradient of its operands.
static tail_task tail_gradient(const group_work *g, const unit *u) {
    tail_task t = tail(g, u);
    if (t.adds) t.activation = ACTIVATION_NONE;
    return t;
}

static void run_sum_backward(const group_work *g, const unit *u) {
    const view y = place_view(u->y, g->memory);
    float *dy = g->memory + u->dy.offset;
    if (u->layers.relu) g->e->kernels->relu_backward(&y, dy);
    pass_gradient(g, dy, u->layers.second, u->second_dx);
}

// Writes or adds `values` (NULL: zeros) to a part of the group's record.
static void record_put(const group_work *g, size_t at, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float v = values ? values[i] : 0.0f;
        g->record[at + i] = g->accumulate ? g->record[at + i] + v : v;
    }
}

static void run_tail_sums(const group_work *g, const unit *u) {
    const engine *e = g->e;
    const tail_task t = tail_gradient(g, u);
    e->kernels->tail_backward_sums(&t);
    const size_t channels = (size_t)u->layers.norm->out.channels;
    record_put(g, u->layers.norm->weight, t.sum_dy_xhat, channels);
    record_put(g, u->layers.norm->bias, t.sum_dy, channels);
    // A shard's statistics enter the sum once, with its first group.
    const size_t shard =
        (size_t)g->group->shard * e->placement.norm_channels + u->layers.norm_channel;
    const bool leads = g->group->leads;
    record_put(g, e->program->parameters + u->layers.norm->mean,
               leads ? e->norm.weighted_mean + shard : NULL, channels);
    record_put(g, e->program->parameters + u->layers.norm->variance,
               leads ? e->norm.weighted_variance + shard : NULL, channels);
}

static pool_task pooling(const group_work *g, const unit *u) {
    const layer *l = u->layers.alone;
    return (pool_task){.x = place_view(u->x, g->memory),
                       .y = place_view(u->y, g->memory),
                       .winner = winners(g, u),
                       .kernel_h = l->kernel_h,
                       .kernel_w = l->kernel_w,
                       .stride_y = l->stride_h,
                       .stride_x = l->stride_w,
                       .pad_y = l->pad_h,
                       .pad_x = l->pad_w,
                       .dy = g->memory + u->dy.offset,
                       .dx = input_gradient(g, u)};
}

static void run_pool(const group_work *g, const unit *u, bool backward) {
    const kernels *k = g->e->kernels;
    const pool_task t = pooling(g, u);
    const bool max = u->layers.alone->kind == LAYER_MAX_POOL;
    if (!backward) {
        (max ? k->max_pool : k->average_pool)(&t);
        return;
    }
    (max ? k->max_pool_backward : k->average_pool_backward)(&t);
    add_input_gradient(g, u);
}

// Random numbers are compared with the rate as floats; comparing integers gives the same result.
static dropout_task dropout(const group_work *g, const unit *u) {
    const layer *l = u->layers.alone;
    return (dropout_task){.x = view_as(g, u->x, u->y.size),
                          .y = place_view(u->y, g->memory),
                          .kept = (int8_t *)winners(g, u),
                          .scale = (float)(1 / (1 - l->rate)),
                          .threshold = (uint32_t)ceil((double)(float)l->rate * 0x1p24),
                          .stream = {.seed = layer_seed(l, g->e->options.seed),
                                     .purpose = RANDOM_DROPOUT,
                                     .epoch = g->e->batch->epoch},
                          .ids = g->e->batch->ids + g->group->first,
                          .samples = g->samples,
                          .dy = g->memory + u->dy.offset,
                          .dx = input_gradient(g, u)};
}

// In inference nothing is dropped.
static void run_dropout(const group_work *g, const unit *u) {
    if (g->group) {
        const dropout_task t = dropout(g, u);
        g->e->kernels->dropout(&t);
        return;
    }
    const view x = view_as(g, u->x, u->y.size), y = place_view(u->y, g->memory);
    g->e->kernels->sum(&x, NULL, &y);
}

static void run_activation(const group_work *g, const unit *u, bool backward) {
    const kernels *k = g->e->kernels;
    const layer *l = u->layers.alone;
    const activation_task t = {.kind = activation_of(l),
                               .x = view_as(g, u->x, u->y.size),
                               .y = place_view(u->y, g->memory),
                               .factor = (float)l->factor,
                               .dy = g->memory + u->dy.offset,
                               .dx = input_gradient(g, u)};
    if (!backward) {
        k->activation(&t);
        return;
    }
    k->activation_backward(&t);
    add_input_gradient(g, u);
}

static void run_group_norm(const group_work *g, const unit *u, bool backward) {
    const kernels *k = g->e->kernels;
    const layer *l = u->layers.alone;
    const group_norm_task t = {.x = view_as(g, u->x, u->y.size),
                               .y = place_view(u->y, g->memory),
                               .groups = l->groups,
                               .eps = (float)l->eps,
                               .weight = g->e->parameters + l->weight,
                               .bias = g->e->parameters + l->bias,
                               .dy = g->memory + u->dy.offset,
                               .dx = input_gradient(g, u),
                               .dweight = g->record ? g->record + l->weight : NULL,
                               .dbias = g->record ? g->record + l->bias : NULL,
                               .accumulate = g->accumulate};
    if (!backward) {
        k->group_norm(&t);
        return;
    }
    k->group_norm_backward(&t);
    add_input_gradient(g, u);
}

static void run_moments(const group_work *g, const unit *u) {
    const engine *e = g->e;
    const size_t own = (size_t)g->index * e->placement.norm_channels + u->layers.norm_channel;
    const view z = place_view(u->z, g->memory);
    e->kernels->moments(&z, g->samples, e->norm.group_mean + own, e->norm.group_m2 + own);
}

// The gradient of the logits: computed here from the loss, or given.
static void run_loss(const group_work *g, const unit *u) {
    const engine *e = g->e;
    const program *p = e->program;
    const size_t classes = (size_t)p->classes;
    float *logits = g->memory + u->z.offset, tail_values[RECORD_EXTRA] = {0};
    if (e->given_gradients) {
        lanes_import(e, e->given_gradients + (size_t)g->index * classes * GROUP, logits, classes);
        tail_values[RECORD_LOSS] = e->given_losses[g->index];
    } else {
        const loss_task t = {.classes = p->classes,
                             .samples = g->samples,
                             .smoothing = e->options.label_smoothing,
                             .logits = logits,
                             .targets = e->batch->targets + g->group->first};
        tail_values[RECORD_LOSS] = e->kernels->loss(&t);
    }
    scale_logits(g, u);
    record_put(g, p->parameters + p->buffers, tail_values, RECORD_EXTRA);
}

// Images are scattered over the whole data set, so they are prefetched while the preceding group is
// processed.
static void fetch_images(const engine *e, const group *next) {
    const size_t bytes = shape_size(e->program->input);
    for (int n = 0; n < next->samples; n++)
        for (size_t i = 0; i < bytes; i += CACHE_LINE)
            __builtin_prefetch(e->batch->pixels[next->first + n] + i, 0, 2);
}

static void run_operation(const group_work *g, const operation *op) {
    const engine *e = g->e;
    switch (op->kind) {
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT: stage_operation(g, op->kind); break;
    case OP_LOAD: {
        const view x = place_view(e->placement.input, g->memory);
        e->kernels->load(g->pixels, g->samples, e->load_scale, e->load_shift, &x);
        if (g->next) fetch_images(e, g->next);
        break;
    }
    case OP_CORE: run_core(g, op->unit); break;
    case OP_MOMENTS: run_moments(g, op->unit); break;
    case OP_TAIL:
    case OP_TAIL_AGAIN: {
        const tail_task t = tail(g, op->unit);
        e->kernels->tail_forward(&t);
        break;
    }
    case OP_POOL: run_pool(g, op->unit, false); break;
    case OP_DROPOUT: run_dropout(g, op->unit); break;
    case OP_ACTIVATION: run_activation(g, op->unit, false); break;
    case OP_GROUP_NORM: run_group_norm(g, op->unit, false); break;
    case OP_LOSS: run_loss(g, op->unit); break;
    case OP_SUM_BACKWARD: run_sum_backward(g, op->unit); break;
    case OP_TAIL_SUMS: run_tail_sums(g, op->unit); break;
    case OP_TAIL_BACKWARD: {
        const tail_task t = tail_gradient(g, op->unit);
        e->kernels->tail_backward(&t);
        break;
    }
    case OP_POOL_BACKWARD: run_pool(g, op->unit, true); break;
    case OP_DROPOUT_BACKWARD: {
        const dropout_task t = dropout(g, op->unit);
        e->kernels->dropout_backward(&t);
        add_input_gradient(g, op->unit);
        break;
    }
    case OP_ACTIVATION_BACKWARD: run_activation(g, op->unit, true); break;
    case OP_GROUP_NORM_BACKWARD: run_group_norm(g, op->unit, true); break;
    case OP_CORE_WEIGHTS: run_core_weights(g, op->unit); break;
    case OP_CORE_INPUT: run_core_input(g, op->unit); break;
    }
}

// Products by Winograd's algorithm, on all groups of a bunch at once.
static void run_winograd(const group_work *bunch, int count, const operation *op) {
    conv_task tasks[BUNCH] = {0};
    const bool forward = op->kind == OP_CORE;
    for (int i = 0; i < count; i++)
        tasks[i] = forward ? convolution_winograd(&bunch[i], op->unit)
                           : convolution_winograd_input(&bunch[i], op->unit,
                                                        input_gradient(&bunch[i], op->unit));
    bunch->e->kernels->winograd(tasks, count);
    for (int i = 0; i < count && !forward; i++) add_input_gradient(&bunch[i], op->unit);
}

void operations_run(const group_work *bunch, int count, const sequence *s, int first, int end) {
    for (int i = first; i < end; i++) {
        const operation *op = &s->operations[i];
        const bool products = op->kind == OP_CORE || op->kind == OP_CORE_INPUT;
        if (products && op->unit->winograd)
            run_winograd(bunch, count, op);
        else
            for (int k = 0; k < count; k++) run_operation(&bunch[k], op);
        // Reads the clock at each change of phase, not for each operation.
        if (i + 1 == end || operation_phase(op->kind) != operation_phase(op[1].kind))
            member_mark(bunch->member, operation_phase(op->kind));
    }
}
