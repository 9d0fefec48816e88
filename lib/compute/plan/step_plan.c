// SPDX-License-Identifier: MIT
#include "compute/plan/step_plan.h"

#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compute/plan/within.h"

const operation_traits operation_kind_traits[OPERATION_KINDS] = {
    [OP_LOAD] = {.name = "load", .phase = PHASE_LOAD, .cut = CUT_AREAS},
    [OP_RECEIVE] = {.name = "receive", .phase = PHASE_COPY},
    [OP_ANCHOR] = {.name = "anchor", .phase = PHASE_FORWARD, .cut = CUT_AREAS},
    [OP_MOMENTS] = {.name = "moments", .phase = PHASE_FORWARD, .cut = CUT_CHANNELS},
    [OP_NORM] = {.name = "norm", .phase = PHASE_FORWARD, .joins = true},
    [OP_EPILOGUE] = {.name = "epilogue", .phase = PHASE_FORWARD, .cut = CUT_AREAS},
    [OP_UNFUSED] = {.name = "unfused", .phase = PHASE_FORWARD},
    [OP_COPY] = {.name = "copy", .phase = PHASE_FORWARD},
    [OP_SEND] = {.name = "send", .phase = PHASE_COPY},
    [OP_LOSS] = {.name = "loss", .phase = PHASE_FORWARD},
    [OP_RECEIVE_GRADIENT] = {.name = "receive gradient", .phase = PHASE_COPY},
    [OP_EPILOGUE_ACTIVATION] = {.name = "activation gradient",
                                .phase = PHASE_BACKWARD,
                                .cut = CUT_CHANNELS},
    [OP_EPILOGUE_SECOND] = {.name = "gradient of second",
                            .phase = PHASE_BACKWARD,
                            .cut = CUT_AREAS},
    [OP_EPILOGUE_SUMS] = {.name = "sums", .phase = PHASE_BACKWARD, .cut = CUT_CHANNELS},
    [OP_STATISTICS] = {.name = "statistics", .phase = PHASE_BACKWARD},
    [OP_NORM_BACKWARD] = {.name = "norm gradient", .phase = PHASE_BACKWARD, .joins = true},
    [OP_BARRIER] = {.name = "barrier", .phase = PHASE_BACKWARD, .joins = true},
    [OP_EPILOGUE_BACKWARD] = {.name = "epilogue gradient",
                              .phase = PHASE_BACKWARD,
                              .cut = CUT_AREAS},
    [OP_EPILOGUE_AGAIN] = {.name = "epilogue again", .phase = PHASE_BACKWARD, .cut = CUT_AREAS},
    [OP_ANCHOR_WEIGHTS] = {.name = "weight gradient", .phase = PHASE_BACKWARD, .cut = CUT_CHANNELS},
    [OP_ANCHOR_INPUT] = {.name = "input gradient", .phase = PHASE_BACKWARD, .cut = CUT_AREAS},
    [OP_UNFUSED_BACKWARD] = {.name = "unfused gradient", .phase = PHASE_BACKWARD},
    [OP_COPY_GRADIENT] = {.name = "copy gradient", .phase = PHASE_BACKWARD},
    [OP_ADD_GRADIENT] = {.name = "add gradient", .phase = PHASE_BACKWARD, .cut = CUT_AREAS},
    [OP_SEND_GRADIENT] = {.name = "send gradient", .phase = PHASE_COPY},
};

// ---- What threads that share a group cut ----

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

// The images of a group, in bytes, that each thread loads for itself. They stay in the second-level
// cache of its core.
enum { OWN_IMAGES = 512 << 10 };

static bool loads_own_images(const program *p) {
    return shape_size(p->input) * GROUP * sizeof(float) <= OWN_IMAGES;
}

// Too small an operation is not cut.
static operation_cut cut_of(const step_plan *plan, const operation *op) {
    const unit_layers *u = op->unit == NO_UNIT ? NULL : &plan->units->units[op->unit];
    const operation_cut cut = natural_cut(u, op->kind);
    if (op->kind == OP_LOAD && loads_own_images(plan->program)) return CUT_EACH;
    return cut != CUT_NOT && work_of(plan, op) >= LEAST_WORK ? cut : CUT_NOT;
}

// ---- The list ----

// At most.
enum { OPERATIONS_OF_UNIT = 14, RANGES_OF_UNIT = 8, OPERATIONS_OF_ENDS = 8, RANGES_OF_ENDS = 1 };

static void new_plan(step_plan *plan, const program *p, const unit_list *units) {
    const size_t count = (size_t)units->count;
    const size_t operations = count * OPERATIONS_OF_UNIT + OPERATIONS_OF_ENDS;
    const size_t ranges = count * RANGES_OF_UNIT + RANGES_OF_ENDS;
    *plan = (step_plan){.program = p,
                        .units = units,
                        .operations = memory_new(operations, sizeof *plan->operations),
                        .supersteps = memory_new(operations, sizeof *plan->supersteps),
                        .ranges = memory_new(ranges, sizeof *plan->ranges)};
}

void step_plan_release(step_plan *plan) {
    free(plan->operations);
    free(plan->supersteps);
    free(plan->ranges);
    *plan = (step_plan){0};
}

static void close_superstep(step_plan *plan, bool joins) {
    const int count = plan->superstep_count;
    const superstep *last = count ? &plan->supersteps[count - 1] : NULL;
    const int first = last ? last->end + last->joins : 0;
    plan->supersteps[plan->superstep_count++] =
        (superstep){first, plan->operation_count - joins, joins};
}

static void add(step_plan *plan, operation_kind kind, int unit) {
    const int ranges = plan->range_count;
    operation *op = &plan->operations[plan->operation_count++];
    *op = (operation){kind, unit, ranges, ranges, CUT_NOT};
    if (plan->units->cut) op->cut = cut_of(plan, op);
    if (operation_kind_traits[kind].joins) close_superstep(plan, true);
}

// Parts that the last operation writes.
static void writes(step_plan *plan, size_t first, size_t count) {
    if (count == 0) return;
    plan->ranges[plan->range_count++] = (gradient_range){first, count};
    plan->operations[plan->operation_count - 1].end_range = plan->range_count;
}

static void writes_tensors(step_plan *plan, const layer *l) {
    writes(plan, l->weight, layer_weights(l));
    writes(plan, l->bias, layer_biases(l));
}

static void writes_statistics(step_plan *plan, const layer *norm) {
    const size_t buffers = plan->program->parameters;
    writes(plan, buffers + norm->mean, layer_statistics(norm));
    writes(plan, buffers + norm->variance, layer_statistics(norm));
}

// ---- Forward ----

static void add_norm(step_plan *plan, int i) {
    const unit_layers *u = &plan->units->units[i];
    if (!u->options.moments_with_anchor) add(plan, OP_MOMENTS, i);
    if (!u->options.norm_with_moments) add(plan, OP_NORM, i);
    if (u->options.statistics_forward) writes_statistics(plan, u->norm);
}

static void add_forward(step_plan *plan, int i, bool training) {
    const unit_layers *u = &plan->units->units[i];
    const unit_options *o = &u->options;
    if (u->unfused) {
        add(plan, OP_UNFUSED, i);
        return;
    }
    if (u->moved && !units_stays(plan->units, i)) add(plan, OP_COPY, i);
    if (u->moved || u->joined) return;
    if (!unit_z_is_x(u)) add(plan, OP_ANCHOR, i);
    if (u->norm && training) add_norm(plan, i);
    if (!u->last && !(training ? o->epilogue_with_anchor : o->inference_epilogue_with_anchor))
        add(plan, OP_EPILOGUE, i);
}

// ---- What backward needs ----

// What frozen groups leave to backward.
typedef struct demand {
    const unit_list *units;
    const engine_options *options;
    uint32_t frozen; // groups
    bool *wanted;    // units whose tensors, or those of units below, are trained
    int lowest;      // of these; INT_MAX: none
} demand;

static bool is_group_trained(const demand *d, size_t offset) {
    const uint8_t *groups = d->options->parameter_groups;
    return !(d->frozen >> (groups ? groups[offset / ARENA_ALIGNMENT] : 0) & 1);
}

static bool is_trained(const demand *d, const layer *l) {
    return l && ((layer_weights(l) && is_group_trained(d, l->weight)) ||
                 (layer_biases(l) && is_group_trained(d, l->bias)));
}

static bool is_wanted(const demand *d, unit_source source) {
    return source.unit == UNIT_INPUT ? d->options->receives : d->wanted[source.unit];
}

// Is the gradient of an input of the concat needed? Those are the units before the whole.
static bool wants_part(const demand *d, int whole) {
    const int inputs = layer_inputs(d->units->units[whole].joined);
    for (int i = whole - inputs; i < whole; i++)
        if (d->wanted[i]) return true;
    return false;
}

// Is the gradient of an operand of the unit needed?
static bool wants_input(const demand *d, const unit_layers *u) {
    return is_wanted(d, u->source) || (unit_has_second(u) && is_wanted(d, u->second));
}

static void demand_init(demand *d, const unit_list *units, const engine_options *o,
                        uint32_t frozen) {
    *d = (demand){.units = units, .options = o, .frozen = frozen, .lowest = INT_MAX};
    d->wanted = memory_new((size_t)units->count, sizeof *d->wanted);
    for (int i = 0; i < units->count; i++) {
        const unit_layers *u = &units->units[i];
        d->wanted[i] = (u->joined ? wants_part(d, i) : wants_input(d, u)) ||
                       is_trained(d, u->anchor) || is_trained(d, u->norm) ||
                       is_trained(d, u->unfused);
        if (d->wanted[i] && i < d->lowest) d->lowest = i;
    }
}

// ---- Backward ----

// Of a unit whose gradient nothing needs. Its barrier stays, so that no superstep has more
// operations, which need memory, than if nothing is frozen.
static void add_statistics(step_plan *plan, const demand *d, int i) {
    const unit_layers *u = &plan->units->units[i];
    if (!u->norm || u->options.statistics_forward) return;
    add(plan, OP_STATISTICS, i);
    writes_statistics(plan, u->norm);
    if (d->lowest < i) add(plan, OP_BARRIER, i);
}

static void add_norm_backward(step_plan *plan, int i) {
    const unit_layers *u = &plan->units->units[i];
    if (!u->options.sums_with_reader) {
        add(plan, OP_EPILOGUE_SUMS, i);
        writes_tensors(plan, u->norm);
    }
    if (!u->options.statistics_forward) {
        add(plan, OP_STATISTICS, i);
        writes_statistics(plan, u->norm);
    }
    if (!u->options.norm_with_moments) add(plan, OP_NORM_BACKWARD, i);
}

static void add_epilogue_backward(step_plan *plan, int i) {
    const unit_layers *u = &plan->units->units[i];
    const bool smooth = u->smooth && !u->options.activation_with_epilogue;
    if (smooth || (u->plus && u->relu)) add(plan, OP_EPILOGUE_ACTIVATION, i);
    if (u->plus && u->second.gradient) add(plan, OP_EPILOGUE_SECOND, i);
    if (u->norm) add_norm_backward(plan, i);
    if (!u->last) add(plan, OP_EPILOGUE_BACKWARD, i);
}

static void add_weights(step_plan *plan, int i) {
    const unit_layers *u = &plan->units->units[i];
    const int source = u->source.unit;
    if (source != UNIT_INPUT && plan->units->units[source].options.again)
        add(plan, OP_EPILOGUE_AGAIN, source);
    add(plan, OP_ANCHOR_WEIGHTS, i);
    writes_tensors(plan, u->anchor);
}

static void add_input(step_plan *plan, int i) {
    const unit_list *l = plan->units;
    const unit_layers *u = &l->units[i];
    const unit_layers *source = u->source.unit == UNIT_INPUT ? NULL : &l->units[u->source.unit];
    add(plan, OP_ANCHOR_INPUT, i);
    if (source && source->options.sums_with_reader) writes_tensors(plan, source->norm);
}

// That of an epilogue's second operand has an operation of its own.
static bool has_input_gradient(const unit_layers *u) {
    return u->source.gradient || (unit_has_second(u) && !u->plus && u->second.gradient);
}

static void add_backward(step_plan *plan, const demand *d, int i) {
    const unit_layers *u = &plan->units->units[i];
    const bool by_itself = u->anchor || u->unfused; // sums and copies add while they pass it on
    if (!d->wanted[i]) {
        add_statistics(plan, d, i);
        return;
    }
    if (u->joined) return; // its gradient is that of its inputs
    if (u->moved) {
        if (u->source.gradient && !units_gradient_stays(plan->units, i))
            add(plan, OP_COPY_GRADIENT, i);
        return;
    }
    if (u->unfused) {
        if (!has_input_gradient(u) && layer_weights(u->unfused) == 0) return;
        add(plan, OP_UNFUSED_BACKWARD, i);
        writes_tensors(plan, u->unfused);
    } else {
        add_epilogue_backward(plan, i);
        if (is_trained(d, u->anchor)) add_weights(plan, i);
        if (u->options.in_place || !wants_input(d, u) || !has_input_gradient(u)) return;
        add_input(plan, i);
    }
    if (by_itself && u->source.gradient && u->source.adds) add(plan, OP_ADD_GRADIENT, i);
}

// ---- All of it ----

void step_plan_training(step_plan *plan, const program *p, const unit_list *units,
                        const engine_options *o, uint32_t frozen) {
    const int last = units->count - 1;
    demand d;
    demand_init(&d, units, o, frozen);
    new_plan(plan, p, units);
    add(plan, o->receives ? OP_RECEIVE : OP_LOAD, NO_UNIT);
    for (int i = 0; i <= last; i++) add_forward(plan, i, true);
    if (o->sends) add(plan, OP_SEND, last);
    if (engine_runs_in_parts(o)) close_superstep(plan, false);
    plan->backward = plan->operation_count;
    plan->backward_superstep = plan->superstep_count;
    add(plan, o->sends ? OP_RECEIVE_GRADIENT : OP_LOSS, last);
    writes(plan, p->parameters + p->buffers, GRADIENT_TAIL);
    for (int i = last; i >= 0; i--) add_backward(plan, &d, i);
    if (o->receives) add(plan, OP_SEND_GRADIENT, NO_UNIT);
    close_superstep(plan, false);
    free(d.wanted);
}

status step_plan_check_part(const engine_options *o, const run_part *part, error *err) {
    if (!part == !engine_runs_in_parts(o)) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot run %s: the engine was not opened for it",
                     part ? "a part of a step" : "a whole step");
}

void step_plan_inference(step_plan *plan, const program *p, const unit_list *units) {
    new_plan(plan, p, units);
    add(plan, OP_LOAD, NO_UNIT);
    for (int i = 0; i < units->count; i++) add_forward(plan, i, false);
    close_superstep(plan, false);
}
