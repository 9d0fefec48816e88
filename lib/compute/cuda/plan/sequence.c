// SPDX-License-Identifier: MIT
// The operations of a step in order: built once, when the engine is opened.
#include "base/memory.h"
#include "compute/cuda/plan/cuda_plan.h"

enum { MAX_OPERATIONS_OF_UNIT = 16 };

phase cuda_operation_phase(operation_kind kind) {
    switch (kind) {
    case OP_LOAD: return PHASE_LOAD;
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT: return PHASE_COPY;
    case OP_ANCHOR:
    case OP_MOMENTS:
    case OP_EXCHANGE:
    case OP_NORM:
    case OP_EPILOGUE:
    case OP_UNFUSED:
    case OP_LOSS: return PHASE_FORWARD;
    case OP_LOSS_SUM:
    case OP_EPILOGUE_ACTIVATION:
    case OP_EPILOGUE_SECOND:
    case OP_EPILOGUE_SUMS:
    case OP_NORM_BACKWARD:
    case OP_EPILOGUE_BACKWARD:
    case OP_ANCHOR_WEIGHTS:
    case OP_ANCHOR_INPUT:
    case OP_UNFUSED_BACKWARD:
    case OP_ADD_GRADIENT: break;
    }
    return PHASE_BACKWARD;
}

static void add(cuda_plan *p, operation_kind kind, const cuda_unit *u) {
    p->operations[p->operation_count++] = (operation){kind, u};
}

// Do engines normalise together? Then each batch norm exchanges through the host.
static bool exchanges(const cuda_plan *p) {
    return p->options.sync_batch_norm && p->options.exchange != NULL;
}

static void add_forward(cuda_plan *p, const cuda_unit *u) {
    if (u->layers.unfused) {
        add(p, OP_UNFUSED, u);
        return;
    }
    add(p, OP_ANCHOR, u);
    if (u->layers.norm) {
        if (!u->makes_moments) add(p, OP_MOMENTS, u);
        if (exchanges(p)) add(p, OP_EXCHANGE, u);
        if (p->options.sync_batch_norm) add(p, OP_NORM, u);
    }
    if (!u->layers.last && !u->makes_epilogue) add(p, OP_EPILOGUE, u);
}

// Gradients that need all of dy: of a sum's second input, and through a batch norm.
static void add_epilogue_backward(cuda_plan *p, const cuda_unit *u) {
    const unit_layers *l = &u->layers;
    if (l->smooth || (l->plus && l->relu)) add(p, OP_EPILOGUE_ACTIVATION, u);
    if (l->plus && u->second_dx) add(p, OP_EPILOGUE_SECOND, u);
    if (l->norm) {
        if (!u->has_sums) add(p, OP_EPILOGUE_SUMS, u);
        if (exchanges(p)) add(p, OP_EXCHANGE, u);
        if (p->options.sync_batch_norm) add(p, OP_NORM_BACKWARD, u);
    }
    if (!l->last) add(p, OP_EPILOGUE_BACKWARD, u);
}

static void add_backward(cuda_plan *p, const cuda_unit *u) {
    const layer *unfused = u->layers.unfused, *anchor = u->layers.anchor;
    if (unfused) {
        if (u->dx || layer_weights(unfused) > 0) add(p, OP_UNFUSED_BACKWARD, u);
    } else {
        add_epilogue_backward(p, u);
        if (anchor) add(p, OP_ANCHOR_WEIGHTS, u);
        if (u->dx || (!anchor && u->second_dx)) add(p, OP_ANCHOR_INPUT, u);
    }
    if (u->dx_total && (unfused || anchor)) add(p, OP_ADD_GRADIENT, u);
}

static void add_inference(cuda_plan *p) {
    int *n = &p->inference_count;
    p->inference[(*n)++] = (operation){OP_LOAD, NULL};
    for (int i = 0; i < p->units.count; i++) {
        const cuda_unit *u = &p->placed[i];
        const bool unfused = u->layers.unfused != NULL;
        p->inference[(*n)++] = (operation){unfused ? OP_UNFUSED : OP_ANCHOR, u};
        if (!unfused && !u->fuses_epilogue && !u->layers.last)
            p->inference[(*n)++] = (operation){OP_EPILOGUE, u};
    }
}

void cuda_sequence(cuda_plan *p) {
    const engine_options *o = &p->options;
    const size_t most = (size_t)(p->units.count + 1) * MAX_OPERATIONS_OF_UNIT;
    p->operations = memory_new(most, sizeof *p->operations);
    p->inference = memory_new(most, sizeof *p->inference);
    const cuda_unit *last = cuda_last_unit(p);
    add(p, o->receives ? OP_RECEIVE : OP_LOAD, NULL);
    for (int i = 0; i < p->units.count; i++) add_forward(p, &p->placed[i]);
    if (o->sends) add(p, OP_SEND, NULL);
    p->backward_first = p->operation_count;
    add(p, o->sends ? OP_RECEIVE_GRADIENT : OP_LOSS, last);
    if (o->sends) add(p, OP_LOSS_SUM, NULL);
    for (int i = p->units.count - 1; i >= 0; i--) add_backward(p, &p->placed[i]);
    if (o->receives) add(p, OP_SEND_GRADIENT, NULL);
    p->graphable = !exchanges(p) && !o->stage;
    if (!o->receives && !o->sends) add_inference(p);
}
