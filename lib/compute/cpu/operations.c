// SPDX-License-Identifier: MIT
// The operations of a step on one group: builds the tasks of the kernels from units and places.
#include "compute/cpu/operations.h"

#include <string.h>

#include "compute/cpu/convolution.h"
#include "compute/cpu/exchange.h"
#include "compute/cpu/layers.h"

// z = x, or x plus the second source.
static void run_sum(const group_work *g, const unit *u) {
    const shape s = u->layers.sum ? u->layers.x : u->x.size;
    const view x = group_view(g, u->x, s), z = group_view(g, u->z, s);
    const view second = u->layers.sum ? group_view(g, u->second, s) : x;
    g->e->kernels->sum(&x, u->layers.sum ? &second : NULL, &z);
}

// Of the logits, or of their gradients.
static void scale_logits(const group_work *g, const unit *u) {
    if (!u->layers.scale) return;
    const view z = place_view(u->z, g->memory);
    const layer_task t = {.l = u->layers.scale, .x = z, .y = z};
    g->e->kernels->layers[t.l->kind].forward(&t);
}

static void run_anchor(const group_work *g, const unit *u) {
    const layer *l = u->layers.anchor;
    if (!l) {
        run_sum(g, u);
        return;
    }
    cpu_anchors[l->kind].forward(g, u);
    scale_logits(g, u);
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

static void add_gradient(const group_work *g, const unit *u) {
    g->e->kernels->add(g->memory + u->dx.offset, g->added,
                       shape_size(u->dx.size) * (size_t)g->e->kernels->lanes);
}

static void run_anchor_input(const group_work *g, const unit *u) {
    const layer *l = u->layers.anchor;
    if (l) {
        cpu_anchors[l->kind].backward(g, u, input_gradient(g, u));
        return;
    }
    const float *dz = g->memory + (u->layers.options.on_x ? u->dy.offset : u->z.offset);
    pass_gradient(g, dz, u->layers.source, u->dx);
    if (u->layers.sum) pass_gradient(g, dz, u->layers.second, u->second_dx);
}

static void run_copy(const group_work *g, const unit *u) {
    const view x = group_view(g, u->x, u->layers.y), y = place_view(u->y, g->memory);
    g->e->kernels->sum(&x, NULL, &y);
}

// The gradient of what a slice leaves out is 0.
static void run_copy_gradient(const group_work *g, const unit *u) {
    const size_t lanes = (size_t)g->e->kernels->lanes;
    place dx = u->dx;
    if (unit_is_slice(&u->layers)) {
        if (!u->layers.source.adds)
            memset(g->memory + dx.offset, 0, shape_size(dx.size) * lanes * sizeof(float));
        dx.size = u->layers.y;
        dx.offset += u->layers.part.feature * lanes;
    }
    pass_gradient(g, g->memory + u->dy.offset, u->layers.source, dx);
}

static void run_anchor_weights(const group_work *g, const unit *u) {
    const layer *l = u->layers.anchor;
    cpu_anchors[l->kind].weights(g, u, g->gradients + l->weight,
                                 l->has_bias ? g->gradients + l->bias : NULL);
}

static epilogue_task epilogue(const group_work *g, const unit *u) {
    const execution *e = g->e;
    epilogue_task t = {.z = place_view(u->z, g->memory),
                       .y = place_view(u->y, group_memory(g, u->y)),
                       .argmax = group_choices(g, u),
                       .activation = unit_epilogue_activation(&u->layers),
                       .pool = u->layers.pool,
                       .adds = u->layers.plus,
                       .samples = g->samples,
                       .dy = g->memory + u->dy.offset,
                       .dz_replaces_dy = u->layers.options.on_x};
    if (t.adds) t.second = group_view(g, u->second, u->z.size);
    if (!u->layers.norm) return t;
    if (!g->group) {
        t.scale = e->norm.run_scale + u->layers.norm_channel;
        t.shift = e->norm.run_shift + u->layers.norm_channel;
        return t;
    }
    const size_t channels = e->placement.list.norm_channels;
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

// After a sum, dy is already the gradient of its operands.
static epilogue_task epilogue_gradient(const group_work *g, const unit *u) {
    epilogue_task t = epilogue(g, u);
    if (t.adds) t.activation = ACTIVATION_NONE;
    return t;
}

// Of a sum: the kernels of an epilogue without one include their activation.
static void run_epilogue_activation(const group_work *g, const unit *u) {
    const view y = place_view(u->y, g->memory);
    g->e->kernels->relu_backward(&y, g->memory + u->dy.offset);
}

// Writes or adds `values` (NULL: zeros) to a part of the group's gradient buffer.
static void put_gradients(const group_work *g, size_t at, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float v = values ? values[i] : 0.0f;
        g->gradients[at + i] = g->accumulate ? g->gradients[at + i] + v : v;
    }
}

// A shard's statistics enter the sum once, with its first group.
static void run_statistics(const group_work *g, const unit *u) {
    const execution *e = g->e;
    const size_t channels = (size_t)u->layers.norm->out.channels;
    const size_t shard =
        (size_t)g->group->shard * e->placement.list.norm_channels + u->layers.norm_channel;
    const bool leads = g->group->leads;
    put_gradients(g, e->program->parameters + u->layers.norm->mean,
                  leads ? e->norm.weighted_mean + shard : NULL, channels);
    put_gradients(g, e->program->parameters + u->layers.norm->variance,
                  leads ? e->norm.weighted_variance + shard : NULL, channels);
}

static void run_epilogue_sums(const group_work *g, const unit *u) {
    const execution *e = g->e;
    const epilogue_task t = epilogue_gradient(g, u);
    e->kernels->epilogue_backward_sums(&t);
    const size_t channels = (size_t)u->layers.norm->out.channels;
    put_gradients(g, u->layers.norm->weight, t.sum_dy_xhat, channels);
    put_gradients(g, u->layers.norm->bias, t.sum_dy, channels);
}

static void run_moments(const group_work *g, const unit *u) {
    const execution *e = g->e;
    const size_t own = (size_t)g->index * e->placement.list.norm_channels + u->layers.norm_channel;
    const view z = place_view(u->z, g->memory);
    e->kernels->moments(&z, g->samples, e->norm.group_mean + own, e->norm.group_m2 + own);
}

// Writes the tail of the group's gradient buffer.
static void put_loss(const group_work *g, float loss) {
    const program *p = g->e->program;
    const float tail[GRADIENT_TAIL] = {[TAIL_LOSS] = loss};
    put_gradients(g, p->parameters + p->buffers, tail, GRADIENT_TAIL);
}

static void run_loss(const group_work *g, const unit *u) {
    const execution *e = g->e;
    const loss_task t = {.classes = e->program->classes,
                         .samples = g->samples,
                         .smoothing = e->options.label_smoothing,
                         .logits = g->memory + u->z.offset,
                         .targets = e->batch->targets + g->group->first};
    const float loss = e->kernels->loss(&t);
    scale_logits(g, u);
    put_loss(g, loss);
}

// No unit here reads the output.
static void run_send(const group_work *g, const unit *u) {
    exchange_send(g, u->layers.last ? u->z : u->y);
}

static void run_receive_gradient(const group_work *g, const unit *u) {
    const float *losses = g->e->part.losses;
    exchange_receive(g, u->layers.last ? u->z : u->dy);
    scale_logits(g, u);
    put_loss(g, losses ? losses[g->index] : 0);
}

enum { CACHE_LINE = 64 };

// Images are scattered over the whole data set, so they are prefetched while the preceding group is
// processed.
static void fetch_images(const execution *e, const group *next) {
    const size_t bytes = shape_size(e->program->input);
    for (int n = 0; n < next->samples; n++)
        for (size_t i = 0; i < bytes; i += CACHE_LINE)
            __builtin_prefetch(e->batch->pixels[next->first + n] + i, 0, 2);
}

static void run_load(const group_work *g) {
    const execution *e = g->e;
    const view x = place_view(e->placement.input, g->memory);
    e->kernels->load(g->pixels, g->samples, e->load_scale, e->load_shift, &x);
    if (g->next) fetch_images(e, g->next);
}

static void run_epilogue(const group_work *g, const unit *u) {
    const epilogue_task t = epilogue(g, u);
    g->e->kernels->epilogue_forward(&t);
}

static void run_epilogue_backward(const group_work *g, const unit *u) {
    const epilogue_task t = epilogue_gradient(g, u);
    g->e->kernels->epilogue_backward(&t);
}

static void run_operation(const group_work *g, const operation *op) {
    const unit *u = op->unit == NO_UNIT ? NULL : unit_of(g->e, op);
    switch (op->kind) {
    case OP_LOAD: run_load(g); break;
    case OP_RECEIVE: exchange_receive(g, g->e->placement.input); break;
    case OP_SEND: run_send(g, u); break;
    case OP_RECEIVE_GRADIENT: run_receive_gradient(g, u); break;
    case OP_SEND_GRADIENT: exchange_send(g, g->e->placement.input_gradient); break;
    case OP_ANCHOR: run_anchor(g, u); break;
    case OP_MOMENTS: run_moments(g, u); break;
    case OP_EPILOGUE:
    case OP_EPILOGUE_AGAIN: run_epilogue(g, u); break;
    case OP_UNFUSED: unfused_forward(g, u); break;
    case OP_COPY: run_copy(g, u); break;
    case OP_LOSS: run_loss(g, u); break;
    case OP_EPILOGUE_ACTIVATION: run_epilogue_activation(g, u); break;
    case OP_EPILOGUE_SECOND:
        pass_gradient(g, g->memory + u->dy.offset, u->layers.second, u->second_dx);
        break;
    case OP_EPILOGUE_SUMS: run_epilogue_sums(g, u); break;
    case OP_STATISTICS: run_statistics(g, u); break;
    case OP_EPILOGUE_BACKWARD: run_epilogue_backward(g, u); break;
    case OP_ANCHOR_WEIGHTS: run_anchor_weights(g, u); break;
    case OP_ANCHOR_INPUT: run_anchor_input(g, u); break;
    case OP_UNFUSED_BACKWARD: unfused_backward(g, u, input_gradient(g, u)); break;
    case OP_COPY_GRADIENT: run_copy_gradient(g, u); break;
    case OP_ADD_GRADIENT: add_gradient(g, u); break;
    case OP_NORM:
    case OP_NORM_BACKWARD:
    case OP_BARRIER:
    case OPERATION_KINDS: break; // of all threads together: step.c
    }
}

// Products by Winograd's algorithm, on all groups of a chunk at once.
static void run_winograd(const group_work *chunk, int count, const operation *op,
                         const float *filters) {
    const unit *u = unit_of(chunk->e, op);
    conv_task tasks[CHUNK] = {0};
    for (int i = 0; i < count; i++)
        tasks[i] = op->kind == OP_ANCHOR ? convolution_winograd(&chunk[i], u, filters)
                                         : convolution_winograd_input(&chunk[i], u, filters,
                                                                      input_gradient(&chunk[i], u));
    chunk->e->kernels->winograd(tasks, count);
}

void operations_run(const group_work *chunk, int count, const cpu_plan *p, int first, int end) {
    for (int i = first; i < end; i++) {
        const operation *op = &p->steps.operations[i];
        if (is_winograd(chunk->e, op))
            run_winograd(chunk, count, op, p->filters + p->filters_at[i]);
        else
            for (int k = 0; k < count; k++) run_operation(&chunk[k], op);
        // Reads the clock at each change of phase, not for each operation.
        if (i + 1 == end || operation_phase(op) != operation_phase(&op[1]))
            member_mark(chunk->member, operation_phase(op));
    }
}
