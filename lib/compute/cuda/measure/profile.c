// SPDX-License-Identifier: MIT
// Profile of a step: the time of each operation, and its memory traffic and arithmetic.
//
// A separate pass rather than time stamps in a step's graph: kernels take a few microseconds each,
// so events between all of them would be a large part of the measured time.
#include <stdio.h>

#include "compute/cuda/measure/measure.h"

typedef enum item_kind {
    ITEM_INPUT, // the step input, from the host
    ITEM_OPERATION,
    ITEM_REDUCE,
    ITEM_UPDATE,
    ITEM_STEP, // all of them, as one graph
} item_kind;

typedef struct item {
    item_kind kind;
    int operation;
} item;

static const item_kind behind[] = {ITEM_REDUCE, ITEM_UPDATE, ITEM_STEP};

// Of `behind`: a single shard's gradient buffer needs no sum.
static int items_left_out(const engine *e) {
    return e->gradients.sums == e->gradients.of_shards;
}

static int item_count(const engine *e) {
    return 1 + e->plan.training.operation_count + (int)(sizeof behind / sizeof *behind) -
           items_left_out(e);
}

static item item_at(const engine *e, int n) {
    if (n == 0) return (item){ITEM_INPUT, 0};
    if (n <= e->plan.training.operation_count) return (item){ITEM_OPERATION, n - 1};
    return (item){behind[n - 1 - e->plan.training.operation_count + items_left_out(e)], 0};
}

// ---- Running ----

static status send_input(engine *e, error *err) {
    const input_arrays *in = &e->input;
    return cuda_enqueue_copy(&e->device, in->device.numbers, in->host.numbers,
                             cuda_input_bytes(in, !in->data_set), cudaMemcpyHostToDevice,
                             "sending a step", err);
}

static status run_step(engine *e, error *err) {
    NEED(send_input(e, err));
    NEED(cuda_run_operations(e, 0, e->plan.training.operation_count, false, err));
    NEED(cuda_sum_gradients(e, 0, e->gradients.floats, cuda_main(&e->device), err));
    return cuda_run_update(e, err);
}

static status run_item(engine *e, const void *task, error *err) {
    const item *i = task;
    switch (i->kind) {
    case ITEM_INPUT: return send_input(e, err);
    case ITEM_OPERATION: return cuda_run_operations(e, i->operation, i->operation + 1, false, err);
    case ITEM_REDUCE:
        return cuda_sum_gradients(e, 0, e->gradients.floats, cuda_main(&e->device), err);
    case ITEM_UPDATE: return cuda_run_update(e, err);
    case ITEM_STEP: break;
    }
    return run_step(e, err);
}

// ---- Names ----

static const char *forward_of(const unit_options *o) {
    if (o->moments_with_anchor)
        return o->epilogue_with_anchor ? "forward with moments and tail" : "forward with moments";
    return o->epilogue_with_anchor ? "forward with tail" : "forward";
}

static const char *what_it_does(const cuda_unit *u, operation_kind kind) {
    switch (kind) {
    case OP_LOAD: return "load";
    case OP_ANCHOR: return forward_of(&u->layers->options);
    case OP_MOMENTS: return "moments";
    case OP_NORM: return "scale and shift";
    case OP_EPILOGUE: return "tail";
    case OP_UNFUSED: return "forward";
    case OP_COPY: return "copy";
    case OP_LOSS: return "loss";
    case OP_EPILOGUE_ACTIVATION: return "activation gradient";
    case OP_EPILOGUE_SECOND: return "gradient of the second input";
    case OP_EPILOGUE_SUMS: return "gradient";
    case OP_NORM_BACKWARD: return "factors";
    case OP_EPILOGUE_BACKWARD: return "tail gradient";
    case OP_ANCHOR_WEIGHTS: return "weight gradient";
    case OP_ANCHOR_INPUT: return u->sums_of ? "input gradient with sums" : "input gradient";
    case OP_UNFUSED_BACKWARD: return "gradient";
    case OP_COPY_GRADIENT: return "copy of the gradient";
    case OP_ADD_GRADIENT: return "sum of input gradients";
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT:
    case OP_STATISTICS:
    case OP_EPILOGUE_AGAIN:
    case OP_BARRIER:
    case OPERATION_KINDS: break;
    }
    return "exchange";
}

// Returns the layer that an operation is named after; NULL if it belongs to none. An epilogue,
// which may cover several layers, belongs to its unit's first one.
static const layer *layer_of(const cuda_unit *u, operation_kind kind) {
    if (!u || kind == OP_LOSS) return NULL;
    const unit_layers *l = u->layers;
    if (l->unfused) return l->unfused;
    if (l->moved) return l->moved;
    const bool norms = kind == OP_MOMENTS || kind == OP_NORM || kind == OP_EPILOGUE_SUMS ||
                       kind == OP_NORM_BACKWARD;
    return norms || !l->anchor ? l->norm : l->anchor;
}

static void name_item(const engine *e, const item *i, operation_profile *p) {
    static const char *const names[] = {[ITEM_INPUT] = "step input from the host",
                                        [ITEM_REDUCE] = "sum of the shards' records",
                                        [ITEM_UPDATE] = "update",
                                        [ITEM_STEP] = "whole step as one graph"};
    if (i->kind != ITEM_OPERATION) {
        snprintf(p->name, sizeof p->name, "%s", names[i->kind]);
        return;
    }
    const operation *op = &e->plan.training.operations[i->operation];
    const cuda_unit *u = cuda_unit_of(&e->plan, op);
    const layer *l = layer_of(u, op->kind);
    snprintf(p->name, sizeof p->name, "%s%s%s", l ? l->name : "", l ? " " : "",
             what_it_does(u, op->kind));
}

// ---- Counting ----

static double local_shards(const engine *e) {
    return e->shards.run_end - e->shards.run_first;
}

// Returns the values of an activation, over all lanes.
static double values(const engine *e, shape s) {
    return (double)shape_size(s) * e->plan.lanes * local_shards(e);
}

// Returns the bytes of weights and biases.
static double parameter_bytes(const layer *l) {
    const size_t biases = l->has_bias ? (size_t)l->out.channels : 0;
    return (double)sizeof(float) * (double)(layer_weights(l) + biases);
}

// Returns the bytes of y and of the argmaxes.
static double epilogue_bytes(const engine *e, const unit_layers *l) {
    return sizeof(float) * values(e, l->y) + (l->pool ? values(e, l->y) : 0);
}

// Returns the bytes of z and of the argmaxes, which the sums of gradients need in addition to dy.
static double from_epilogue_bytes(const engine *e, const unit_layers *l) {
    return sizeof(float) * values(e, l->z) + (l->pool ? values(e, l->y) : 0);
}

// Returns the number of output positions per sample that the product computes: if it makes an
// epilogue without z, only those that windows contain.
static double positions_of(const cuda_unit *u, bool windows) {
    const unit_layers *l = u->layers;
    return windows ? 4.0 * l->y.height * l->y.width : (double)l->z.height * l->z.width;
}

// Returns the bytes of a gradient of a sum that is passed to one of its inputs, or added there.
static double passed_bytes(const engine *e, unit_source to, shape z) {
    const double arrays = !to.gradient ? 0 : to.adds ? 3 : 2;
    return arrays * sizeof(float) * values(e, z);
}

// A copy, or a sum of two values.
static void count_sum(const engine *e, const cuda_unit *u, operation_kind kind,
                      operation_profile *p) {
    const unit_layers *l = u->layers;
    if (kind == OP_ANCHOR)
        p->bytes = (l->sum ? 3.0 : 2.0) * sizeof(float) * values(e, l->z);
    else
        p->bytes = passed_bytes(e, l->source, l->z) + passed_bytes(e, l->second, l->z);
}

// An anchor's forward, weight gradient and input gradient have the same number of multiply-adds.
static void count_anchor(const engine *e, const cuda_unit *u, operation_kind kind,
                         operation_profile *p) {
    const unit_layers *l = u->layers;
    const double z = sizeof(float) * values(e, l->z);
    if (!l->anchor) {
        count_sum(e, u, kind, p);
        return;
    }
    const bool epilogue = kind == OP_ANCHOR && l->options.epilogue_with_anchor;
    const double times = kind == OP_ANCHOR_WEIGHTS ? local_shards(e) : 1;
    p->bytes = sizeof(float) * values(e, l->anchor->in) + times * parameter_bytes(l->anchor);
    p->bytes += !epilogue ? z : l->norm ? 2 * z + epilogue_bytes(e, l) : epilogue_bytes(e, l);
    if (kind == OP_ANCHOR_INPUT && u->sums_of)
        p->bytes += from_epilogue_bytes(e, u->sums_of->layers);
    p->flop = 2 * (double)layer_weights(l->anchor) * positions_of(u, epilogue && l->pool) *
              e->plan.lanes * local_shards(e);
}

// Forward: z and y with the argmaxes; the sums of gradients: the same with dy for y. Backward
// writes dz, and reads z if there is a norm. Without a norm it reads y if that shows which values
// passed the ReLU.
static void count_epilogue(const engine *e, const cuda_unit *u, operation_kind kind,
                           operation_profile *p) {
    const unit_layers *l = u->layers;
    const double z = sizeof(float) * values(e, l->z);
    p->bytes = z + epilogue_bytes(e, l);
    if (kind == OP_EPILOGUE && l->plus) p->bytes += z;
    if (kind != OP_EPILOGUE_BACKWARD) return;
    if (l->norm)
        p->bytes += z;
    else if (l->relu && !l->pool && !l->plus)
        p->bytes += sizeof(float) * values(e, l->y);
}

// Two doubles, and three or four floats, of every channel and shard, and the norm's parameters.
static void count_norm(const engine *e, const cuda_unit *u, operation_kind kind,
                       operation_profile *p) {
    const double channels = u->layers->norm->out.channels;
    const double floats =
        kind == OP_NORM ? 6 : 5; // 4 and two of the gradient buffer; 3 and two read
    p->bytes = local_shards(e) * channels * (2 * sizeof(double) + floats * sizeof(float)) +
               2 * channels * sizeof(float);
}

static void count_unfused(const engine *e, const cuda_unit *u, operation_profile *p) {
    const layer *l = u->layers->unfused;
    const double second = layer_has_second(l) ? values(e, layer_second_shape(l)) : 0;
    p->bytes = sizeof(float) * (values(e, l->in) + second + values(e, l->out)) +
               (l->kind == LAYER_MAX_POOL ? values(e, l->out) : 0);
}

static void count_operation(const engine *e, const operation *op, operation_profile *p) {
    const double samples = e->plan.lanes * local_shards(e);
    const cuda_unit *u = cuda_unit_of(&e->plan, op);
    switch (op->kind) {
    case OP_LOAD: p->bytes = (1 + sizeof(float)) * values(e, e->plan.program->input); break;
    case OP_ANCHOR:
    case OP_ANCHOR_WEIGHTS:
    case OP_ANCHOR_INPUT: count_anchor(e, u, op->kind, p); break;
    case OP_MOMENTS: p->bytes = sizeof(float) * values(e, u->layers->z); break;
    case OP_NORM:
    case OP_NORM_BACKWARD: count_norm(e, u, op->kind, p); break;
    case OP_EPILOGUE:
    case OP_EPILOGUE_SUMS:
    case OP_EPILOGUE_BACKWARD: count_epilogue(e, u, op->kind, p); break;
    case OP_UNFUSED:
    case OP_UNFUSED_BACKWARD: count_unfused(e, u, p); break;
    case OP_EPILOGUE_ACTIVATION: p->bytes = 3 * sizeof(float) * values(e, u->layers->z); break;
    case OP_EPILOGUE_SECOND: p->bytes = passed_bytes(e, u->layers->second, u->layers->z); break;
    case OP_COPY: p->bytes = 2 * sizeof(float) * values(e, u->layers->y); break;
    case OP_COPY_GRADIENT: p->bytes = passed_bytes(e, u->layers->source, u->layers->y); break;
    case OP_ADD_GRADIENT: p->bytes = 3 * sizeof(float) * values(e, u->layers->x); break;
    case OP_LOSS: p->bytes = samples * (8.0 * e->plan.program->classes + 1); break;
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT:
    case OP_STATISTICS:
    case OP_EPILOGUE_AGAIN:
    case OP_BARRIER:
    case OPERATION_KINDS: break;
    }
}

static void count_item(const engine *e, const item *i, operation_profile *p) {
    const double arrays = optimizer_states(e->plan.kind);
    switch (i->kind) {
    case ITEM_INPUT: p->host_bytes = (double)cuda_input_bytes(&e->input, !e->input.data_set); break;
    case ITEM_OPERATION: count_operation(e, &e->plan.training.operations[i->operation], p); break;
    case ITEM_REDUCE:
        p->bytes = sizeof(float) * (double)gradient_floats(e->plan.program) *
                   (local_shards(e) + e->shards.cover_count);
        break;
    case ITEM_UPDATE: // parameters and state are read and written
        p->bytes =
            sizeof(float) * ((double)(e->model.own_end - e->model.own_first) * (3 + 2 * arrays) +
                             3 * (double)e->plan.program->buffers);
        break;
    case ITEM_STEP: break; // the sum of the others
    }
}

// ---- All of them ----

static status check_engine(engine *e, int repeats, error *err) {
    if (!e->plan.graphable || engine_runs_in_parts(&e->plan.options) || !e->shards.tree.nodes)
        return error_set(err, STATUS_USAGE,
                         "cannot profile: the engine has not run a complete step by itself");
    if (repeats < 1)
        return error_set(err, STATUS_USAGE, "cannot profile: repeats must be at least 1");
    return cuda_begin(&e->device, err);
}

static status profile_item(engine *e, const item *i, int repeats, operation_profile *sum,
                           operation_profile *p, error *err) {
    *p = (operation_profile){.launches = 0};
    name_item(e, i, p);
    count_item(e, i, p);
    sum->bytes += p->bytes;
    sum->host_bytes += p->host_bytes;
    sum->flop += p->flop;
    if (i->kind == ITEM_STEP) {
        p->bytes = sum->bytes;
        p->host_bytes = sum->host_bytes;
        p->flop = sum->flop;
    }
    return cuda_time(e, run_item, i, repeats, &p->us, &p->launches, err);
}

status cuda_profile(engine *e, int repeats, operation_profile *out, int room, int *count,
                    error *err) {
    operation_profile sum = {.launches = 0};
    NEED(check_engine(e, repeats, err));
    e->clock.marking = false; // the next step sets it again
    e->shards.run_first = 0;
    e->shards.run_end = cuda_own_shards(&e->shards);
    *count = item_count(e);
    for (int n = 0; n < *count && n < room; n++) {
        const item i = item_at(e, n);
        NEED(profile_item(e, &i, repeats, &sum, &out[n], err));
    }
    return STATUS_OK;
}
