// SPDX-License-Identifier: MIT
#include "compute/plan/slices.h"

#include "compute/plan/step_plan.h"

// Below this number of multiply-adds of a sample, or as much other work, an operation is not cut:
// what two threads gain is less than what their meetings cost, 0.2 to 0.9 µs each, and the way of
// values to another core's cache. A thread does 8000 multiply-adds of 16 samples in 2.6 µs.
enum { LEAST_WORK = 8000 };

// What an element of a pass over an activation, and of a function of each element, counts. A pass
// takes as long as four multiply-adds, but mostly waits for memory, which two threads share: of
// bytes that become floats, with no gain.
enum { LOAD = 1, PASS = 2, FUNCTION = 16 };

static double products(const layer *l) {
    return (double)layer_weights(l) * (l->kernel_h ? l->out.height * l->out.width : 1);
}

static double elements(shape a, shape b) {
    return (double)(shape_size(a) > shape_size(b) ? shape_size(a) : shape_size(b));
}

static double work_of(const step_plan *plan, const operation *op) {
    if (op->unit == NO_UNIT) return LOAD * (double)shape_size(plan->program->input);
    const unit_layers *u = &plan->units->units[op->unit];
    const operation_kind k = op->kind;
    if (u->anchor && (k == OP_ANCHOR || k == OP_ANCHOR_WEIGHTS || k == OP_ANCHOR_INPUT))
        return products(u->anchor);
    return (u->unfused || u->smooth ? FUNCTION : PASS) * elements(u->x, u->z);
}

// Of a unit by itself, an unfused layer decides; the scale of the logits is one pass with them.
static operation_cut natural_cut(const unit_layers *u, operation_kind kind) {
    if (kind == OP_UNFUSED || kind == OP_UNFUSED_BACKWARD)
        return layer_traits_of(u->unfused)->apart == APART_NOT ? CUT_NOT : CUT_CHANNELS;
    if (kind == OP_ANCHOR && u->scale) return CUT_NOT;
    return operation_kind_traits[kind].cut;
}

operation_cut slices_cut_of(const step_plan *plan, const operation *op) {
    const unit_layers *u = op->unit == NO_UNIT ? NULL : &plan->units->units[op->unit];
    const operation_cut cut = natural_cut(u, op->kind);
    return cut != CUT_NOT && work_of(plan, op) >= LEAST_WORK ? cut : CUT_NOT;
}
