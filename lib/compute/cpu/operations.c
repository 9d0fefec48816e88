// SPDX-License-Identifier: MIT
// The operations of a step on one group: builds the tasks of the kernels from units and places.
#include "compute/cpu/operations.h"

#include <string.h>

#include "compute/cpu/convolution.h"
#include "compute/cpu/exchange.h"
#include "compute/cpu/layers.h"

// z = x, or x plus the second source.
static void run_sum(const group_work *g, const unit *u) {
    const shape s = u->layers->sum ? u->layers->x : u->x.size;
    const view x = group_view(g, u->x, s), z = group_view(g, u->z, s);
    const view second = u->layers->sum ? group_view(g, u->second, s) : x;
    const slice_area own = slice_area_of(g->slice, s.height, s.channels);
    const view part = view_part(x, own), of_second = view_part(second, own);
    const view to = view_part(z, own);
    g->e->kernels->sum(&part, u->layers->sum ? &of_second : NULL, &to);
}

// Of the logits, or of their gradients.
static void scale_logits(const group_work *g, const unit *u) {
    if (!u->layers->scale) return;
    const view z = place_view(u->z, g->memory);
    const layer_task t = {.l = u->layers->scale, .x = z, .y = z};
    g->e->kernels->layers[t.l->kind].forward(&t);
}

static void run_anchor(const group_work *g, const unit *u) {
    const layer *l = u->layers->anchor;
    if (!l) {
        run_sum(g, u);
        return;
    }
    cpu_anchors[l->kind].forward(g, u);
    scale_logits(g, u);
}

// The slice's part of a place without borders.
static float_range floats_of_slice(const group_work *g, place p) {
    return slice_floats(g->slice, shape_size(p.size) * (size_t)g->e->kernels->lanes);
}

// The gradient of an operand of a sum is that of the sum.
static void pass_gradient(const group_work *g, const float *gradient, unit_source source,
                          place dx) {
    const float_range own = floats_of_slice(g, dx);
    float *to = g->memory + dx.offset + own.first;
    if (!source.gradient) return;
    if (source.adds)
        g->e->kernels->add(to, gradient + own.first, own.end - own.first);
    else
        memcpy(to, gradient + own.first, (own.end - own.first) * sizeof *gradient);
}

// Where the kernels of a unit write the gradient of x: to its place, or apart if it is added to the
// gradient there.
static float *input_gradient(const group_work *g, const unit *u) {
    if (u->layers->first) return NULL;
    return u->layers->source.adds ? g->added : g->memory + u->dx.offset;
}

static void add_gradient(const group_work *g, const unit *u) {
    const float_range own = floats_of_slice(g, u->dx);
    g->e->kernels->add(g->memory + u->dx.offset + own.first, g->added + own.first,
                       own.end - own.first);
}

static void run_anchor_input(const group_work *g, const unit *u) {
    const layer *l = u->layers->anchor;
    if (l) {
        cpu_anchors[l->kind].backward(g, u, input_gradient(g, u));
        return;
    }
    const float *dz = g->memory + (u->layers->options.on_x ? u->dy.offset : u->z.offset);
    pass_gradient(g, dz, u->layers->source, u->dx);
    if (u->layers->sum) pass_gradient(g, dz, u->layers->second, u->second_dx);
}

static void run_copy(const group_work *g, const unit *u) {
    const view x = group_view(g, u->x, u->layers->y), y = place_view(u->y, g->memory);
    g->e->kernels->sum(&x, NULL, &y);
}

// The gradient of what a slice leaves out is 0.
static void run_copy_gradient(const group_work *g, const unit *u) {
    const size_t lanes = (size_t)g->e->kernels->lanes;
    place dx = u->dx;
    if (unit_is_slice(u->layers)) {
        if (!u->layers->source.adds)
            memset(g->memory + dx.offset, 0, shape_size(dx.size) * lanes * sizeof(float));
        dx.size = u->layers->y;
        dx.offset += u->layers->part.feature * lanes;
    }
    pass_gradient(g, g->memory + u->dy.offset, u->layers->source, dx);
}

static void run_anchor_weights(const group_work *g, const unit *u) {
    const layer *l = u->layers->anchor;
    cpu_anchors[l->kind].weights(g, u, g->gradients + l->weight,
                                 l->has_bias ? g->gradients + l->bias : NULL);
}

static epilogue_task epilogue(const group_work *g, const unit *u) {
    const execution *e = g->e;
    epilogue_task t = {.z = place_view(u->z, group_memory(g, u->z)),
                       .y = place_view(u->y, group_memory(g, u->y)),
                       .argmax = group_choices(g, u),
                       .activation = unit_epilogue_activation(u->layers),
                       .numbers = unit_epilogue_numbers(u->layers),
                       .pool = u->layers->pool,
                       .adds = u->layers->plus,
                       .samples = g->samples,
                       .dy = g->memory + u->dy.offset,
                       .dz_replaces_dy = u->layers->options.on_x};
    if (t.adds) t.second = group_view(g, u->second, u->z.size);
    if (!u->layers->norm) return t;
    if (!g->group) {
        t.scale = e->norm.run_scale + u->layers->norm_channel;
        t.shift = e->norm.run_shift + u->layers->norm_channel;
        return t;
    }
    const size_t channels = e->placement.list.norm_channels;
    const size_t shard = (size_t)g->group->shard * channels + u->layers->norm_channel;
    const size_t own = (size_t)g->index * channels + u->layers->norm_channel;
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

// All rows of the slice's channels.
static slice_area channels_of_slice(const group_work *g, shape s) {
    return (slice_area){{0, s.height}, slice_of(g->slice, s.channels)};
}

// With batch norm, which sums over channels before and after, rather channels than rows: a thread
// then has most of what it writes in its own cache.
static slice_area elements_of_slice(const group_work *g, const unit *u) {
    const int rows = u->y.size.height, channels = u->y.size.channels;
    if (!u->layers->norm) return slice_area_of(g->slice, rows, channels);
    const slice_area turned = slice_area_of(g->slice, channels, rows);
    return (slice_area){turned.columns, turned.rows};
}

// The elements of y in an area, and those of z that they are made of: an odd row that no window
// covers belongs to the last one.
static epilogue_task epilogue_part(const group_work *g, const unit *u, epilogue_task t,
                                   slice_area area) {
    const size_t row = (size_t)u->y.size.width * (size_t)g->e->kernels->lanes;
    const size_t plane = (size_t)u->y.size.height * row, c = (size_t)area.columns.first;
    const size_t at = c * plane + (size_t)area.rows.first * row;
    slice_area of_z = area;
    if (t.pool) of_z.rows = (slice_range){2 * area.rows.first, 2 * area.rows.end};
    if (area.rows.end == u->y.size.height) of_z.rows.end = u->z.size.height;
    t.plane = plane;
    t.dy += at;
    t.argmax += at;
    t.y = view_part(t.y, area);
    t.z = view_part(t.z, of_z);
    if (t.adds) t.second = view_part(t.second, of_z);
    if (t.scale) t.scale += c, t.shift += c;
    if (t.mean) t.mean += c, t.mean_rest += c, t.inv_std += c;
    if (t.sum_dy) t.sum_dy += c, t.sum_dy_xhat += c;
    if (t.from_dy) t.from_dy += c, t.from_z += c, t.from_one += c;
    return t;
}

// Of a sum: the kernels of an epilogue without one include their activation.
static void run_epilogue_activation(const group_work *g, const unit *u) {
    const slice_area own = channels_of_slice(g, u->y.size);
    const view y = view_part(place_view(u->y, g->memory), own);
    const size_t plane = (size_t)(y.height * y.width * g->e->kernels->lanes);
    g->e->kernels->relu_backward(&y, g->memory + u->dy.offset + (size_t)own.columns.first * plane);
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
    const size_t channels = (size_t)u->layers->norm->out.channels;
    const size_t shard =
        (size_t)g->group->shard * e->placement.list.norm_channels + u->layers->norm_channel;
    const bool leads = g->group->leads;
    put_gradients(g, e->program->parameters + u->layers->norm->mean,
                  leads ? e->norm.weighted_mean + shard : NULL, channels);
    put_gradients(g, e->program->parameters + u->layers->norm->variance,
                  leads ? e->norm.weighted_variance + shard : NULL, channels);
}

static void run_epilogue_sums(const group_work *g, const unit *u) {
    const slice_area own = channels_of_slice(g, u->y.size);
    const epilogue_task t = epilogue_part(g, u, epilogue_gradient(g, u), own);
    const size_t first = (size_t)own.columns.first, channels = (size_t)t.z.channels;
    g->e->kernels->epilogue_backward_sums(&t);
    put_gradients(g, u->layers->norm->weight + first, t.sum_dy_xhat, channels);
    put_gradients(g, u->layers->norm->bias + first, t.sum_dy, channels);
}

static void run_moments(const group_work *g, const unit *u) {
    const execution *e = g->e;
    const slice_area own = channels_of_slice(g, u->z.size);
    const size_t at = (size_t)g->index * e->placement.list.norm_channels + u->layers->norm_channel +
                      (size_t)own.columns.first;
    const view z = view_part(place_view(u->z, group_memory(g, u->z)), own);
    e->kernels->moments(&z, g->samples, e->norm.group_mean + at, e->norm.group_m2 + at);
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
    exchange_send(g, u->layers->last ? u->z : u->y);
}

static void run_receive_gradient(const group_work *g, const unit *u) {
    const float *losses = g->e->part.losses;
    exchange_receive(g, u->layers->last ? u->z : u->dy);
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
    const shape s = e->program->input;
    const slice_area own = slice_area_of(g->slice, s.height, s.channels);
    const size_t row = (size_t)s.width, plane = (size_t)s.height * row;
    const load_task t = {.pixels = g->pixels,
                         .first = (size_t)own.columns.first * plane + (size_t)own.rows.first * row,
                         .plane = plane,
                         .samples = g->samples,
                         .scale = e->load_scale + own.columns.first,
                         .shift = e->load_shift + own.columns.first,
                         .x = view_part(place_view(e->placement.input, g->images), own)};
    e->kernels->load(&t);
    if (g->next && g->slice.number == 0) fetch_images(e, g->next);
}

static void run_epilogue(const group_work *g, const unit *u) {
    const slice_area own = elements_of_slice(g, u);
    const epilogue_task t = epilogue_part(g, u, epilogue(g, u), own);
    g->e->kernels->epilogue_forward(&t);
}

static void run_epilogue_backward(const group_work *g, const unit *u) {
    const slice_area own = elements_of_slice(g, u);
    const epilogue_task t = epilogue_part(g, u, epilogue_gradient(g, u), own);
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
        pass_gradient(g, g->memory + u->dy.offset, u->layers->second, u->second_dx);
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

// ---- Winograd's algorithm ----

// Blocks from `first` on, fewer than there are slices. Their patches, in the scratch memory of one
// thread for each block, serve the outputs of all threads.
static void share_winograd(const group_work *g, const conv_task *tasks, int count, int first,
                           int blocks) {
    const kernels *k = g->e->kernels;
    const int channels = tasks->in.channels;
    const int outputs = (tasks->out.channels + WINOGRAD_OUTPUTS - 1) / WINOGRAD_OUTPUTS;
    const slice_area patches = slice_area_of(g->slice, blocks, channels);
    const slice_area own = slice_area_of(g->slice, blocks, outputs);
    team_meet(g->team, g->crew); // they have read the patches of their own blocks
    for (int i = patches.rows.first; i < patches.rows.end; i++)
        k->winograd_patches(tasks, count, first + i, patches.columns.first, patches.columns.end,
                            g->mates[i].scratch);
    team_meet(g->team, g->crew);
    for (int i = own.rows.first; i < own.rows.end; i++)
        k->winograd_outputs(tasks, count, first + i, own.columns.first, own.columns.end,
                            g->mates[i].scratch);
}

// Products by Winograd's algorithm, on all groups of a chunk at once. As far as there are blocks of
// tiles for all threads, each has its own.
static void run_winograd(const group_work *chunk, int count, const operation *op,
                         const float *filters) {
    const unit *u = unit_of(chunk->e, op);
    const kernels *k = chunk->e->kernels;
    conv_task tasks[CHUNK] = {0};
    for (int i = 0; i < count; i++)
        tasks[i] = op->kind == OP_ANCHOR ? convolution_winograd(&chunk[i], u, filters)
                                         : convolution_winograd_input(&chunk[i], u, filters,
                                                                      input_gradient(&chunk[i], u));
    const int blocks = k->winograd_blocks(tasks, count);
    const int shared = blocks % chunk->slice.count;
    const slice_range own = slice_of(chunk->slice, blocks - shared);
    k->winograd(tasks, count, own.first, own.end);
    if (shared > 0) share_winograd(chunk, tasks, count, blocks - shared, shared);
}

// ---- All operations ----

void operations_run(group_work *chunk, int count, const cpu_plan *p, int first, int end) {
    bool was_cut = false;
    for (int i = first; i < end; i++) {
        const operation *op = &p->steps.operations[i];
        const bool each = op->cut == CUT_EACH && chunk->images != chunk->memory;
        const bool cut = op->cut != CUT_NOT && op->cut != CUT_EACH && chunk->crew.size > 1;
        if (i > first && (cut || was_cut)) team_meet(chunk->team, chunk->crew);
        was_cut = cut;
        for (int k = 0; k < count; k++) chunk[k].slice = cut ? group_slice(&chunk[k]) : SLICE_WHOLE;
        if (!cut && !each && chunk->member != chunk->mates)
            continue;
        else if (is_winograd(chunk->e, op))
            run_winograd(chunk, count, op, p->filters + p->filters_at[i]);
        else
            for (int k = 0; k < count; k++) run_operation(&chunk[k], op);
        // Reads the clock at each change of phase, not for each operation.
        if (i + 1 == end || operation_phase(op) != operation_phase(&op[1]))
            member_mark(chunk->member, operation_phase(op));
    }
}
