// SPDX-License-Identifier: MIT
// Launches the kernels of a step's operations. Their tasks are finished but for the pointers into
// the step input, which is a different one in each turn.
#include "compute/cuda/run/cuda_engine.h"

// ---- Batch norm ----

static norm_task norm_of(const engine *e, const cuda_unit *u) {
    norm_task t = u->norm;
    t.all_count = e->input.device.all_count;
    return t;
}

// Gathers the rows of all V shards from those of each engine, if there are several: through the
// host, by the caller's exchange.
static status exchange_rows(const engine *e, const cuda_unit *u, error *err) {
    const engine_options *o = &e->plan.options;
    if (!o->exchange) return STATUS_OK;
    const size_t row = 2 * (size_t)u->layers->norm->out.channels * sizeof(double);
    const size_t own = (size_t)cuda_own_shards(&e->shards) * row, all = (size_t)o->shards * row;
    const norm_arrays *n = &e->norm;
    const cuda_device *d = &e->device;
    NEED(cuda_enqueue_copy(d, n->own_host, n->own, own, cudaMemcpyDeviceToHost,
                           "reading batch norm's statistics", err));
    NEED(cuda_sync(e, err));
    NEED(o->exchange(o->exchange_context, n->own_host, row, n->all_host, err));
    return cuda_enqueue_copy(d, n->all, n->all_host, all, cudaMemcpyHostToDevice,
                             "writing batch norm's statistics", err);
}

// ---- Products, and their further results ----

// Of the logits, or of their gradients.
static void scale_logits(const engine *e, const cut *c, const cuda_unit *u) {
    if (u->layers->scale) cuda_scale(cuda_main(&e->device), c, &u->layer);
}

// z alone, without further results.
static status run_product(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    const launch_stream s = cuda_main(&e->device);
    status rc = STATUS_OK;
    if (!u->layers->anchor)
        cuda_sum(s, c, shape_size(u->layers->z), u->x, u->layers->sum ? u->second : NULL, u->z);
    else if (!u->ours)
        rc = cuda_linear(&e->device, c, &u->conv, err);
    else
        e->plan.sums_by->conv(s, c, &u->conv);
    scale_logits(e, c, u);
    return rc;
}

static status run_anchor(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    const launch_stream s = cuda_main(&e->device);
    const unit_options *o = &u->layers->options;
    if (!o->moments_with_anchor && !o->epilogue_with_anchor) return run_product(e, c, u, err);
    if (o->moments_with_anchor) {
        const norm_task n = norm_of(e, u);
        cuda_conv_moments(s, c, &u->conv, &n, o->epilogue_with_anchor ? &u->epilogue : NULL);
    } else {
        cuda_conv_epilogue(s, c, &u->conv, &u->epilogue);
    }
    return STATUS_OK;
}

// Scale and shift are known beforehand.
static status run_inference_anchor(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->layers->options.inference_epilogue_with_anchor) return run_product(e, c, u, err);
    cuda_conv_epilogue(cuda_main(&e->device), c, &u->conv, &u->inference_epilogue);
    return STATUS_OK;
}

// The gradient of an input of a sum, or of a copy, is that of its result. `total`: it is added to
// that; NULL: it is the first.
static void pass_gradient(const engine *e, const cut *c, const cuda_unit *u, const float *gradient,
                          const float *total, float *to) {
    if (to) cuda_sum(cuda_main(&e->device), c, shape_size(u->layers->z), gradient, total, to);
}

static void pass_to_second(const engine *e, const cut *c, const cuda_unit *u,
                           const float *gradient) {
    pass_gradient(e, c, u, gradient, u->layers->second.adds ? u->second_dx : NULL, u->second_dx);
}

static void run_sum_input(const engine *e, const cut *c, const cuda_unit *u) {
    const float *dz = u->layers->options.on_x ? u->dy : u->z;
    pass_gradient(e, c, u, dz, u->dx_total, u->dx_total ? u->dx_total : u->dx);
    if (u->layers->sum) pass_to_second(e, c, u, dz);
}

static status run_anchor_input(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    const cuda_device *d = &e->device;
    if (!u->layers->anchor) {
        run_sum_input(e, c, u);
        return STATUS_OK;
    }
    if (!u->ours) return cuda_linear_input(d, c, &u->conv, err);
    if (u->sums_of)
        cuda_conv_input_sums(cuda_main(d), c, &u->conv, &u->sums_of->epilogue);
    else
        e->plan.sums_by->conv_input(cuda_main(d), c, &u->conv);
    return STATUS_OK;
}

static status run_anchor_weights(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    if (!u->ours) return cuda_linear_weight(&e->device, c, &u->conv, err);
    e->plan.sums_by->conv_weight(cuda_aside(&e->device), c, &u->conv);
    return STATUS_OK;
}

// ---- Input and loss ----

static void run_load(const engine *e, const cut *c, bool training) {
    const step_input *in = &e->input.device;
    load_task t = e->plan.load;
    t.images = training && e->input.data_set ? e->input.data_set : in->images;
    t.rows = in->rows;
    t.ids = in->ids;
    t.numbers = in->numbers;
    if (!training) t.augment.count = 0;
    cuda_load(cuda_main(&e->device), c, &t);
}

static void run_loss(const engine *e, const cut *c, const cuda_unit *u) {
    cuda_loss_task t = e->plan.loss;
    t.targets = e->input.device.targets;
    cuda_loss(cuda_main(&e->device), c, &t);
    scale_logits(e, c, u);
}

// ---- Exchange with other engines ----

static status run_send(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    return cuda_send_blocks(e, c, shape_size(u->layers->y), u->layers->last ? u->z : u->y, err);
}

// The engine's own losses are zeros.
static status run_receive_gradient(const engine *e, const cut *c, const cuda_unit *u, error *err) {
    const cuda_loss_task *t = &e->plan.loss;
    const float *given = e->part.losses;
    NEED(cuda_receive_blocks(e, c, shape_size(u->layers->y), u->layers->last ? u->z : u->dy, err));
    scale_logits(e, c, u);
    cuda_loss_sums(cuda_main(&e->device), c, given ? given : t->losses,
                   given ? e->input.device.first_group : NULL, &t->gradients, t->loss_at);
    return STATUS_OK;
}

// ---- All of them ----

// With sync_batch_norm: the moments or sums of all shards are those of each, exchanged.
static status run_norm(const engine *e, const cut *c, const cuda_unit *u,
                       void (*run)(launch_stream s, const cut *c, const norm_task *t), error *err) {
    const norm_task t = norm_of(e, u);
    const status rc = exchange_rows(e, u, err);
    if (rc == STATUS_OK) run(cuda_main(&e->device), c, &t);
    return rc;
}

static void run_moments(const engine *e, const cut *c, const cuda_unit *u) {
    const norm_task t = norm_of(e, u);
    e->plan.sums_by->moments(cuda_main(&e->device), c, &t);
}

static status run_operation(const engine *e, const cut *c, const operation *op, bool training,
                            error *err) {
    const launch_stream s = cuda_main(&e->device);
    const cuda_unit *u = cuda_unit_of(&e->plan, op);
    const size_t input = shape_size(e->plan.program->input);
    switch (op->kind) {
    case OP_LOAD: run_load(e, c, training); break;
    case OP_LOSS: run_loss(e, c, u); break;
    case OP_RECEIVE: return cuda_receive_blocks(e, c, input, e->plan.input, err);
    case OP_SEND: return run_send(e, c, u, err);
    case OP_RECEIVE_GRADIENT: return run_receive_gradient(e, c, u, err);
    case OP_SEND_GRADIENT: return cuda_send_blocks(e, c, input, e->plan.input_gradient, err);
    case OP_ANCHOR: return training ? run_anchor(e, c, u, err) : run_inference_anchor(e, c, u, err);
    case OP_ANCHOR_WEIGHTS: return run_anchor_weights(e, c, u, err);
    case OP_ANCHOR_INPUT: return run_anchor_input(e, c, u, err);
    case OP_MOMENTS: run_moments(e, c, u); break;
    case OP_NORM: return run_norm(e, c, u, cuda_norm_forward, err);
    case OP_NORM_BACKWARD: return run_norm(e, c, u, cuda_norm_backward, err);
    case OP_EPILOGUE: cuda_epilogue(s, c, training ? &u->epilogue : &u->inference_epilogue); break;
    case OP_EPILOGUE_ACTIVATION: cuda_epilogue_activation(s, c, &u->epilogue); break;
    case OP_EPILOGUE_SECOND: pass_to_second(e, c, u, u->dy); break;
    case OP_EPILOGUE_SUMS: e->plan.sums_by->epilogue_sums(s, c, &u->epilogue_gradient); break;
    case OP_EPILOGUE_BACKWARD: cuda_epilogue_backward(s, c, &u->epilogue_gradient); break;
    case OP_UNFUSED: cuda_unfused(e, c, u, training); break;
    case OP_UNFUSED_BACKWARD: cuda_unfused_backward(e, c, u); break;
    case OP_COPY: cuda_range(s, c, &u->range); break;
    case OP_COPY_GRADIENT: cuda_range(s, c, &u->range_gradient); break;
    case OP_ADD_GRADIENT:
        cuda_sum(s, c, shape_size(u->layers->x), u->dx_total, u->dx, u->dx_total);
        break;
    case OP_STATISTICS:
    case OP_EPILOGUE_AGAIN:
    case OP_BARRIER:
    case OPERATION_KINDS: break; // not in this engine's plans
    }
    return STATUS_OK;
}

// Weight gradients run concurrently with the rest of backward, one after another on a separate
// stream: nothing needs them before the gradient buffers are summed, and nothing changes their
// inputs. cuBLAS's products stay on the main stream: they are large enough to fill a device, and
// cuBLAS promises the same bits only if a handle and its workspace serve one stream ("Results
// reproducibility" in its manual).
static bool runs_aside(const engine *e, const operation *op) {
    return op->kind == OP_ANCHOR_WEIGHTS && cuda_unit_of(&e->plan, op)->ours;
}

// Returns the mark for the end of a phase.
static int mark_of(phase p) {
    return p == PHASE_LOAD ? MARK_LOADED : p == PHASE_FORWARD ? MARK_FORWARD : MARK_BACKWARD;
}

static status reduce_behind(const comm_place *p, int behind, bool forked, error *err) {
    return p->hooks->reduce_behind(p->comm, behind, forked, err);
}

status cuda_run_operations(engine *e, int first, int end, bool reducing, error *err) {
    const cuda_device *d = &e->device;
    const cut c = cuda_cut(e);
    bool forked = false; // is there work on the side stream to wait for?
    for (int i = first; i < end; i++) {
        const operation *op = &e->plan.training.operations[i];
        const phase p = operation_phase(op);
        const bool aside = runs_aside(e, op);
        if (aside) NEED(cuda_wait_for(d, cuda_aside(d), d->stream, err));
        NEED(run_operation(e, &c, op, true, err));
        forked |= aside;
        if (reducing) NEED(reduce_behind(&e->place, i, forked, err));
        if (i + 1 < end && operation_phase(&op[1]) == p) continue;
        if (forked) NEED(cuda_wait_for(d, cuda_main(d), d->side, err));
        forked = false;
        if (p != PHASE_COPY) cuda_mark(&e->clock, mark_of(p), cuda_main(d));
    }
    if (reducing) NEED(e->place.hooks->join_buckets(e->place.comm, err));
    return cuda_check(d, cudaGetLastError(), "launching a kernel of a step", err);
}

status cuda_sum_gradients(const engine *e, size_t first, size_t end, launch_stream s, error *err) {
    const cut c = cuda_cut(e);
    const gradient_arrays *r = &e->gradients;
    const reduce_task t = {.gradients = {r->of_shards + first, r->stride},
                           .merges = e->input.device.merges,
                           .n = end - first,
                           .out = r->sums + first,
                           .out_stride = r->stride};
    if (r->sums == r->of_shards) return STATUS_OK; // there is one shard
    cuda_reduce(s, &c, &t);
    return cuda_check(&e->device, cudaGetLastError(), "launching the sum of records", err);
}

status cuda_run_update(engine *e, error *err) {
    cuda_update_task t = e->plan.update;
    t.numbers = e->input.device.numbers;
    t.norms.all_count = e->input.device.all_count;
    cuda_update(cuda_main(&e->device), &t);
    cuda_mark(&e->clock, MARK_UPDATED, cuda_main(&e->device));
    return cuda_check(&e->device, cudaGetLastError(), "launching a kernel of an update", err);
}

// ---- Inference ----

void cuda_prepare_inference(const engine *e) {
    for (int i = 0; i < e->plan.units.count; i++) {
        const unit_layers *u = &e->plan.units.units[i];
        const layer *l = u->norm;
        if (!l) continue;
        cuda_norm_inference(cuda_main(&e->device), l->out.channels, l->eps,
                            e->model.parameters + l->weight, e->model.parameters + l->bias,
                            e->model.buffers + l->mean, e->model.buffers + l->variance,
                            e->norm.run_scale + u->norm_channel,
                            e->norm.run_shift + u->norm_channel);
    }
}

status cuda_run_inference(const engine *e, error *err) {
    const cut c = cuda_cut(e);
    for (int i = 0; i < e->plan.inference.operation_count; i++)
        NEED(run_operation(e, &c, &e->plan.inference.operations[i], false, err));
    return cuda_check(&e->device, cudaGetLastError(), "launching a kernel of an inference", err);
}
