// SPDX-License-Identifier: MIT
// Translates the operations of a step into kernel tasks.
#include "compute/cuda/group/group.h"

static record_set records_of(const engine *e) {
    return (record_set){e->records, e->stride};
}

// ---- Convolutions and matrix products ----

static conv_task conv_of(const engine *e, const cuda_unit *u) {
    const layer *l = u->layers.core;
    conv_task t = cuda_conv_task_of(l);
    t.x = u->x;
    t.weight = e->parameters + l->weight;
    t.bias = l->has_bias ? e->parameters + l->bias : NULL;
    t.z = u->z;
    t.dx = u->dx;
    t.records = records_of(e);
    t.workspace = e->workspace;
    t.counters = e->counters;
    t.transforms = e->transforms;
    return t;
}

// ---- Batch norm and tails ----

static norm_task norm_of(const engine *e, const cuda_unit *u) {
    const layer *l = u->layers.norm;
    const norm_memory *n = &e->norm;
    const size_t at = u->layers.norm_channel;
    return (norm_task){.size = u->layers.z,
                       .eps = l->eps,
                       .sync = e->options.sync_batch_norm,
                       .shards = e->options.shards,
                       .all_count = e->device.all_count,
                       .z = u->z,
                       .own = n->own,
                       .all = n->all,
                       .parts = n->parts,
                       .counters = n->counters,
                       .weight = e->parameters + l->weight,
                       .bias = e->parameters + l->bias,
                       .mean = n->mean + at,
                       .mean_rest = n->mean_rest + at,
                       .inv_std = n->inv_std + at,
                       .scale = n->scale + at,
                       .shift = n->shift + at,
                       .from_dy = n->from_dy + at,
                       .from_z = n->from_z + at,
                       .from_one = n->from_one + at,
                       .stride = e->units.norm_channels,
                       .records = records_of(e),
                       .mean_at = e->program->parameters + l->mean,
                       .variance_at = e->program->parameters + l->variance};
}

static activation_kind activation_of(const unit_layers *l) {
    if (l->smooth) return cuda_activation_of(l->smooth);
    return l->relu ? ACTIVATION_RELU : ACTIVATION_NONE;
}

static tail_task tail_of(const engine *e, const cuda_unit *u) {
    const unit_layers *l = &u->layers;
    tail_task t = {.size = l->z,
                   .activation = activation_of(l),
                   .pool = l->pool,
                   .norm = l->norm != NULL,
                   .z = u->z,
                   .second = l->plus ? u->second : NULL,
                   .y = u->y,
                   .winner = u->winner,
                   .dy = u->dy,
                   .sums = e->norm.own,
                   .records = records_of(e)};
    if (!l->norm) return t;
    const norm_memory *n = &e->norm;
    const size_t at = l->norm_channel;
    t.scale = n->scale + at;
    t.shift = n->shift + at;
    t.mean = n->mean + at;
    t.mean_rest = n->mean_rest + at;
    t.inv_std = n->inv_std + at;
    t.from_dy = n->from_dy + at;
    t.from_z = n->from_z + at;
    t.from_one = n->from_one + at;
    t.norm_stride = e->units.norm_channels;
    t.sync = e->options.sync_batch_norm;
    t.weight = e->parameters + l->norm->weight;
    t.weight_at = l->norm->weight;
    t.bias_at = l->norm->bias;
    t.parts = n->parts;
    t.counters = n->counters;
    return t;
}

// Backward, after OP_TAIL_ACTIVATION.
static tail_task tail_gradient_of(const engine *e, const cuda_unit *u) {
    tail_task t = tail_of(e, u);
    if (u->layers.plus || u->layers.smooth) t.activation = ACTIVATION_NONE;
    return t;
}

// Gathers the rows of all V shards from those of each engine: through the host, by the caller's
// exchange.
static status exchange_rows(engine *e, const cuda_unit *u, error *err) {
    const size_t row = 2 * (size_t)u->layers.norm->out.channels * sizeof(double);
    const size_t own = (size_t)(e->counts_end - e->counts_first) * row;
    const size_t all = (size_t)e->options.shards * row;
    norm_memory *n = &e->norm;
    status rc;
    TRY(cuda_check(e, cudaMemcpyAsync(n->own_host, n->own, own, cudaMemcpyDeviceToHost, e->stream),
                   "reading batch norm's statistics", err));
    TRY(cuda_sync(e, err));
    TRY(e->options.exchange(e->options.exchange_context, n->own_host, row, n->all_host, err));
    TRY(cuda_check(e, cudaMemcpyAsync(n->all, n->all_host, all, cudaMemcpyHostToDevice, e->stream),
                   "writing batch norm's statistics", err));
out:
    return rc;
}

// ---- Products, and their further results ----

// Of the logits, or of their gradients.
static void scale_logits(const engine *e, const cut *c, const cuda_unit *u) {
    if (!u->layers.scale) return;
    const activation_task t = {.kind = ACTIVATION_SCALE,
                               .factor = (float)u->layers.scale->factor,
                               .features = shape_size(u->layers.z),
                               .x = u->z,
                               .y = u->z};
    cuda_activation(cuda_main(e), c, &t);
}

// z alone, without further results.
static status run_product(engine *e, const cut *c, const cuda_unit *u, error *err) {
    status rc = STATUS_OK;
    if (!u->layers.core) {
        cuda_sum(cuda_main(e), c, shape_size(u->layers.z), u->x, u->layers.sum ? u->second : NULL,
                 u->z);
    } else if (!u->ours) {
        rc = cuda_linear(e, c, u, err);
    } else {
        const conv_task t = conv_of(e, u);
        e->sums_by->conv(cuda_main(e), c, &t);
    }
    scale_logits(e, c, u);
    return rc;
}

static status run_core(engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->makes_moments && !u->makes_tail) return run_product(e, c, u, err);
    const conv_task t = conv_of(e, u);
    const tail_task tail = tail_of(e, u);
    if (u->makes_moments) {
        const norm_task n = norm_of(e, u);
        cuda_conv_moments(cuda_main(e), c, &t, &n, u->makes_tail ? &tail : NULL);
    } else {
        cuda_conv_tail(cuda_main(e), c, &t, &tail);
    }
    return STATUS_OK;
}

// The gradient of an input of a sum, or of a copy, is that of its result. `total`: it is added to
// that; NULL: it is the first.
static void pass_gradient(const engine *e, const cut *c, const cuda_unit *u, const float *gradient,
                          const float *total, float *to) {
    if (to) cuda_sum(cuda_main(e), c, shape_size(u->layers.z), gradient, total, to);
}

static void pass_to_second(const engine *e, const cut *c, const cuda_unit *u,
                           const float *gradient) {
    pass_gradient(e, c, u, gradient, u->layers.second.adds ? u->second_dx : NULL, u->second_dx);
}

static void run_sum_input(const engine *e, const cut *c, const cuda_unit *u) {
    pass_gradient(e, c, u, u->z, u->dx_total, u->dx_total ? u->dx_total : u->dx);
    if (u->layers.sum) pass_to_second(e, c, u, u->z);
}

static status run_core_input(engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->layers.core) {
        run_sum_input(e, c, u);
        return STATUS_OK;
    }
    if (!u->ours) return cuda_linear_input(e, c, u, err);
    const conv_task t = conv_of(e, u);
    if (u->sums_of) {
        const tail_task front = tail_of(e, u->sums_of);
        cuda_conv_input_sums(cuda_main(e), c, &t, &front);
    } else {
        e->sums_by->conv_input(cuda_main(e), c, &t);
    }
    return STATUS_OK;
}

static status run_core_weights(engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->ours) return cuda_linear_weight(e, c, u, err);
    const conv_task t = conv_of(e, u);
    e->sums_by->conv_weight(cuda_aside(e), c, &t);
    return STATUS_OK;
}

// ---- Images and the loss ----

static void run_load(const engine *e, const cut *c, bool training) {
    const engine_options *o = &e->options;
    load_task t = {.size = e->program->input,
                   .images = training && e->images ? e->images : e->device.images,
                   .rows = e->device.rows,
                   .seed = o->seed,
                   .ids = e->device.ids,
                   .numbers = e->device.numbers,
                   .x = e->input};
    if (training && o->images && o->augment) t.augment = *o->augment;
    for (int i = 0; i < MAX_INPUTS; i++) {
        t.scale[i] = e->load_scale[i];
        t.shift[i] = e->load_shift[i];
    }
    cuda_load(cuda_main(e), c, &t);
}

static size_t loss_at(const engine *e) {
    return e->program->parameters + e->program->buffers + RECORD_LOSS;
}

static void run_loss_record(const engine *e, const cut *c) {
    const record_set r = records_of(e);
    const int *first_group = e->given_gradients ? e->device.first_group : NULL;
    cuda_loss_records(cuda_main(e), c, e->losses, first_group, &r, loss_at(e));
}

static void run_loss(const engine *e, const cut *c, const cuda_unit *last) {
    const size_t features = (size_t)e->program->classes;
    if (e->given_gradients) {
        const blocks_task t = {features, e->device.first_group, last->z, e->blocks};
        cuda_blocks_import(cuda_main(e), c, &t);
        run_loss_record(e, c);
        scale_logits(e, c, last);
        return;
    }
    const loss_task t = {.classes = e->program->classes,
                         .smoothing = e->options.label_smoothing,
                         .targets = e->device.targets,
                         .logits = last->z,
                         .losses = e->losses,
                         .records = records_of(e),
                         .loss_at = loss_at(e),
                         .counters = e->loss_counters};
    cuda_loss(cuda_main(e), c, &t);
    scale_logits(e, c, last);
}

// ---- All of them ----

static status run_unit(engine *e, const cut *c, const operation *op, error *err) {
    const cuda_unit *u = op->unit;
    switch (op->kind) {
    case OP_CORE: return run_core(e, c, u, err);
    case OP_CORE_WEIGHTS: return run_core_weights(e, c, u, err);
    case OP_CORE_INPUT: return run_core_input(e, c, u, err);
    case OP_EXCHANGE: return exchange_rows(e, u, err);
    case OP_MOMENTS:
    case OP_NORM:
    case OP_NORM_BACKWARD: {
        const norm_task t = norm_of(e, u);
        (op->kind == OP_MOMENTS ? e->sums_by->moments
         : op->kind == OP_NORM  ? cuda_norm_forward
                                : cuda_norm_backward)(cuda_main(e), c, &t);
        return STATUS_OK;
    }
    case OP_TAIL:
    case OP_TAIL_ACTIVATION: {
        const tail_task t = tail_of(e, u);
        (op->kind == OP_TAIL ? cuda_tail : cuda_tail_activation)(cuda_main(e), c, &t);
        return STATUS_OK;
    }
    case OP_TAIL_SUMS:
    case OP_TAIL_BACKWARD: {
        const tail_task t = tail_gradient_of(e, u);
        (op->kind == OP_TAIL_SUMS ? e->sums_by->tail_sums : cuda_tail_backward)(cuda_main(e), c,
                                                                                &t);
        return STATUS_OK;
    }
    case OP_TAIL_SECOND: pass_to_second(e, c, u, u->dy); return STATUS_OK;
    case OP_ALONE: cuda_alone(e, c, u, true); return STATUS_OK;
    case OP_ALONE_BACKWARD: cuda_alone_backward(e, c, u); return STATUS_OK;
    default:
        cuda_sum(cuda_main(e), c, shape_size(u->layers.x), u->dx_total, u->dx, u->dx_total);
        return STATUS_OK;
    }
}

static status run_operation(engine *e, const cut *c, const operation *op, error *err) {
    switch (op->kind) {
    case OP_LOAD: run_load(e, c, true); return STATUS_OK;
    case OP_LOSS: run_loss(e, c, op->unit); return STATUS_OK;
    case OP_LOSS_RECORD: run_loss_record(e, c); return STATUS_OK;
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT: return cuda_exchange_operation(e, c, op->kind, err);
    default: return run_unit(e, c, op, err);
    }
}

// Weight gradients run concurrently with the rest of backward, one after another on a separate
// stream: nothing needs them before the records are summed, and nothing changes their inputs.
// cuBLAS's products stay on the main stream: they are large enough to fill a device, and cuBLAS
// promises the same bits only if a handle and its workspace serve one stream ("Results
// reproducibility" in its manual).
static bool runs_aside(const operation *op) {
    return op->kind == OP_CORE_WEIGHTS && op->unit->ours;
}

status cuda_wait_for(const engine *e, cudaStream_t s, cudaStream_t other, error *err) {
    status rc;
    TRY(cuda_check(e, cudaEventRecord(e->reached, other), "recording an event", err));
    TRY(cuda_check(e, cudaStreamWaitEvent(s, e->reached, 0), "waiting for an event", err));
out:
    return rc;
}

// Returns the mark for the end of a phase.
static int mark_of(phase p) {
    return p == PHASE_LOAD ? MARK_LOADED : p == PHASE_FORWARD ? MARK_FORWARD : MARK_BACKWARD;
}

status cuda_run_operations(engine *e, int first, int end, error *err) {
    const cut c = cuda_cut(e);
    bool forked = false; // is there work on the side stream to wait for?
    status rc = STATUS_OK;
    for (int i = first; i < end; i++) {
        const operation *op = &e->operations[i];
        const phase p = cuda_operation_phase(op->kind);
        const bool aside = runs_aside(op);
        if (aside) TRY(cuda_wait_for(e, e->side, e->stream, err));
        TRY(run_operation(e, &c, op, err));
        forked |= aside;
        if (e->reducing) TRY(cuda_reduce_bucket_behind(e, i, forked, err));
        if (i + 1 < end && cuda_operation_phase(op[1].kind) == p) continue;
        if (forked) TRY(cuda_wait_for(e, e->stream, e->side, err));
        forked = false;
        if (p != PHASE_COPY) cuda_mark(e, mark_of(p));
    }
    if (e->reducing) TRY(cuda_wait_for_buckets(e, err));
    rc = cuda_check(e, cudaGetLastError(), "launching a kernel of a step", err);
out:
    return rc;
}

// ---- Inference ----

// Scale and shift come from the running statistics, the mean included, and are the same for all
// shards.
static tail_task inference_tail_of(const engine *e, const cuda_unit *u) {
    tail_task t = tail_of(e, u);
    t.scale = e->norm.run_scale + u->layers.norm_channel;
    t.shift = e->norm.run_shift + u->layers.norm_channel;
    t.mean = NULL;
    t.norm_stride = 0;
    return t;
}

static void run_inference_tail(const engine *e, const cut *c, const cuda_unit *u) {
    const tail_task t = inference_tail_of(e, u);
    cuda_tail(cuda_main(e), c, &t);
}

// Scale and shift are known beforehand, so a product that can make the tail always does.
static status run_inference_core(engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->fuses_tail) return run_product(e, c, u, err);
    const conv_task t = conv_of(e, u);
    const tail_task tail = inference_tail_of(e, u);
    cuda_conv_tail(cuda_main(e), c, &t, &tail);
    return STATUS_OK;
}

void cuda_prepare_inference(engine *e) {
    for (int i = 0; i < e->units.count; i++) {
        const unit_layers *u = &e->units.units[i];
        const layer *l = u->norm;
        if (!l) continue;
        cuda_norm_inference(cuda_main(e), l->out.channels, l->eps, e->parameters + l->weight,
                            e->parameters + l->bias, e->buffers + l->mean, e->buffers + l->variance,
                            e->norm.run_scale + u->norm_channel,
                            e->norm.run_shift + u->norm_channel);
    }
}

status cuda_run_inference(engine *e, error *err) {
    const cut c = cuda_cut(e);
    status rc = STATUS_OK;
    for (int i = 0; i < e->inference_count; i++) {
        const operation *op = &e->inference[i];
        if (op->kind == OP_LOAD) {
            run_load(e, &c, false);
        } else if (op->kind == OP_CORE) {
            TRY(run_inference_core(e, &c, op->unit, err));
        } else if (op->kind == OP_TAIL) {
            run_inference_tail(e, &c, op->unit);
        } else {
            cuda_alone(e, &c, op->unit, false);
        }
    }
    rc = cuda_check(e, cudaGetLastError(), "launching a kernel of an inference", err);
out:
    return rc;
}

// ---- The update ----

static norm_running_task running_of(const engine *e, const unit_layers *u) {
    const float *record = e->sums + e->program->parameters;
    const layer *l = u->norm;
    return (norm_running_task){.channels = l->out.channels,
                               .positions = u->z.height * u->z.width,
                               .momentum = l->momentum,
                               .mean_sum = record + l->mean,
                               .variance_sum = record + l->variance,
                               .mean = e->buffers + l->mean,
                               .variance = e->buffers + l->variance};
}

status cuda_take_running(engine *e, error *err) {
    const size_t room = (size_t)e->units.count * sizeof(norm_running_task);
    norm_running_list *list = &e->running;
    norm_running_task *host, *device;
    status rc;
    TRY(cuda_take_host(e, room, &host, err));
    TRY(cuda_take(e, room, &device, err));
    *list = (norm_running_list){
        .shards = e->options.shards, .sync = e->options.sync_batch_norm, .items = device};
    for (int i = 0; i < e->units.count; i++)
        if (e->units.units[i].norm) host[list->count++] = running_of(e, &e->units.units[i]);
    rc = cuda_check(e, cudaMemcpyAsync(device, host, room, cudaMemcpyHostToDevice, e->stream),
                    "listing batch norms", err);
out:
    return rc;
}

status cuda_run_update(engine *e, error *err) {
    update_task t = {.kind = (int)e->kind,
                     .numbers = e->device.numbers,
                     .first = e->own_first,
                     .end = e->own_end,
                     .group_of = e->group_of,
                     .parameters = e->parameters,
                     .state = e->state[0],
                     .state2 = e->state[1],
                     .gradient = e->sums,
                     .loss = e->sums + loss_at(e),
                     .progress = e->progress,
                     .results = e->results};
    t.norms = e->running;
    t.norms.all_count = e->device.all_count;
    cuda_update(cuda_main(e), &t);
    cuda_mark(e, MARK_UPDATED);
    return cuda_check(e, cudaGetLastError(), "launching a kernel of an update", err);
}
