// SPDX-License-Identifier: MIT
// The operations of a step in order: built once, when the engine is opened.
#include "base/memory.h"
#include "compute/cuda/engine.h"

phase cuda_operation_phase(operation_kind kind) {
    switch (kind) {
    case OP_LOAD: return PHASE_LOAD;
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT: return PHASE_COPY;
    default: return kind > OP_LOSS ? PHASE_BACKWARD : PHASE_FORWARD;
    }
}

static void add(engine *e, operation_kind kind, const cuda_unit *u) {
    e->operations[e->operation_count++] = (operation){kind, u};
}

// Do engines normalise together? Then each batch norm exchanges through the host.
static bool exchanges(const engine *e) {
    return e->options.sync_batch_norm && e->options.exchange != NULL;
}

static void add_forward(engine *e, const cuda_unit *u) {
    if (u->layers.alone) {
        add(e, OP_ALONE, u);
        return;
    }
    add(e, OP_CORE, u);
    if (u->layers.norm) {
        if (!u->makes_moments) add(e, OP_MOMENTS, u);
        if (exchanges(e)) add(e, OP_EXCHANGE, u);
        if (e->options.sync_batch_norm) add(e, OP_NORM, u);
    }
    if (!u->layers.last && !u->makes_tail) add(e, OP_TAIL, u);
}

// Gradients that need all of dy: of a sum's second input, and through a batch norm.
static void add_tail_backward(engine *e, const cuda_unit *u) {
    const unit_layers *l = &u->layers;
    if (l->smooth || (l->plus && l->relu)) add(e, OP_TAIL_ACTIVATION, u);
    if (l->plus && u->second_dx) add(e, OP_TAIL_SECOND, u);
    if (l->norm) {
        if (!u->has_sums) add(e, OP_TAIL_SUMS, u);
        if (exchanges(e)) add(e, OP_EXCHANGE, u);
        if (e->options.sync_batch_norm) add(e, OP_NORM_BACKWARD, u);
    }
    if (!l->last) add(e, OP_TAIL_BACKWARD, u);
}

static void add_backward(engine *e, const cuda_unit *u) {
    const layer *alone = u->layers.alone, *core = u->layers.core;
    if (alone) {
        if (u->dx || layer_weights(alone) > 0) add(e, OP_ALONE_BACKWARD, u);
    } else {
        add_tail_backward(e, u);
        if (core) add(e, OP_CORE_WEIGHTS, u);
        if (u->dx || (!core && u->second_dx)) add(e, OP_CORE_INPUT, u);
    }
    if (u->dx_total && (alone || core)) add(e, OP_ADD_GRADIENT, u);
}

static void add_inference(engine *e) {
    int *n = &e->inference_count;
    e->inference[(*n)++] = (operation){OP_LOAD, NULL};
    for (int i = 0; i < e->units.count; i++) {
        const cuda_unit *u = &e->placed[i];
        const bool alone = u->layers.alone != NULL;
        e->inference[(*n)++] = (operation){alone ? OP_ALONE : OP_CORE, u};
        if (!alone && !u->fuses_tail && !u->layers.last)
            e->inference[(*n)++] = (operation){OP_TAIL, u};
    }
}

status cuda_sequence(engine *e, error *err) {
    const engine_options *o = &e->options;
    const size_t most = (size_t)(e->units.count + 1) * MAX_OPERATIONS_OF_UNIT;
    e->operations = memory_new(most, sizeof *e->operations, err);
    e->inference = memory_new(most, sizeof *e->inference, err);
    if (!e->operations || !e->inference) return STATUS_FAILED;
    const cuda_unit *last = &e->placed[e->units.count - 1];
    add(e, o->receives ? OP_RECEIVE : OP_LOAD, NULL);
    for (int i = 0; i < e->units.count; i++) add_forward(e, &e->placed[i]);
    if (o->sends) add(e, OP_SEND, NULL);
    e->backward_first = e->operation_count;
    add(e, o->sends ? OP_RECEIVE_GRADIENT : OP_LOSS, last);
    if (o->sends) add(e, OP_LOSS_RECORD, NULL);
    for (int i = e->units.count - 1; i >= 0; i--) add_backward(e, &e->placed[i]);
    if (o->receives) add(e, OP_SEND_GRADIENT, NULL);
    e->graphable = !exchanges(e) && !o->stage;
    if (!o->receives && !o->sends) add_inference(e);
    return STATUS_OK;
}
