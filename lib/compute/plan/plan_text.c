// SPDX-License-Identifier: MIT
#include "compute/plan/plan_text.h"

#include <stdio.h>

// The values of a unit (units.h); gradients have the same shapes.
typedef enum unit_value { NO_VALUE, VALUE_X, VALUE_Z, VALUE_Y } unit_value;

// What an operation reads and writes. One that writes no value of the unit only has the first.
static const unit_value values[OPERATION_KINDS][2] = {
    [OP_ANCHOR] = {VALUE_X, VALUE_Z},
    [OP_MOMENTS] = {VALUE_Z},
    [OP_EPILOGUE] = {VALUE_Z, VALUE_Y},
    [OP_UNFUSED] = {VALUE_X, VALUE_Y},
    [OP_LOSS] = {VALUE_Z},
    [OP_EPILOGUE_ACTIVATION] = {VALUE_Y},
    [OP_EPILOGUE_SECOND] = {VALUE_Y},
    [OP_EPILOGUE_SUMS] = {VALUE_Y},
    [OP_EPILOGUE_BACKWARD] = {VALUE_Y, VALUE_Z},
    [OP_EPILOGUE_AGAIN] = {VALUE_Z, VALUE_Y},
    [OP_ANCHOR_WEIGHTS] = {VALUE_Z},
    [OP_ANCHOR_INPUT] = {VALUE_Z, VALUE_X},
    [OP_UNFUSED_BACKWARD] = {VALUE_Y, VALUE_X},
    [OP_ADD_GRADIENT] = {VALUE_X},
};

static void put_shape(const unit_layers *u, unit_value v, text *out) {
    const shape s = v == VALUE_X ? u->x : v == VALUE_Z ? u->z : u->y;
    text_format(out, "%dx%dx%d", s.channels, s.height, s.width);
}

static void put_shapes(const unit_layers *u, operation_kind kind, text *out) {
    const unit_value from = values[kind][0], to = values[kind][1];
    if (from != NO_VALUE) put_shape(u, from, out);
    if (to == NO_VALUE) return;
    text_append(out, " > ");
    put_shape(u, to, out);
}

// ---- Layers ----

static void put_word(text *out, const char *word) {
    text_format(out, "%s%s", out->length ? " " : "", word);
}

static void put_epilogue(const unit_layers *u, text *out) {
    if (u->norm) put_word(out, u->norm->name);
    if (u->plus) put_word(out, "add");
    if (u->relu) put_word(out, "relu");
    if (u->pool) put_word(out, "pool");
    if (u->smooth) put_word(out, u->smooth->name);
}

static void put_anchor(const unit_layers *u, text *out) {
    put_word(out, u->anchor ? u->anchor->name : u->sum ? "add" : "copy");
    if (u->scale) put_word(out, u->scale->name);
}

// An anchor with the operations that are part of it.
static void put_anchor_forward(const unit_layers *u, text *out) {
    put_anchor(u, out);
    if (u->options.epilogue_with_anchor)
        put_epilogue(u, out);
    else if (u->options.moments_with_anchor)
        text_format(out, ", moments of %s", u->norm->name);
}

static void put_anchor_input(const step_plan *plan, const unit_layers *u, text *out) {
    const unit_layers *x =
        u->source.unit == UNIT_INPUT ? NULL : &plan->units->units[u->source.unit];
    put_anchor(u, out);
    if (x && x->options.sums_with_reader) text_format(out, ", sums of %s", x->norm->name);
}

static void put_layers(const step_plan *plan, const unit_layers *u, operation_kind kind,
                       text *out) {
    switch (kind) {
    case OP_ANCHOR: put_anchor_forward(u, out); break;
    case OP_LOSS:
    case OP_ANCHOR_WEIGHTS: put_anchor(u, out); break;
    case OP_ANCHOR_INPUT: put_anchor_input(plan, u, out); break;
    case OP_MOMENTS:
    case OP_NORM:
    case OP_EPILOGUE_SUMS:
    case OP_STATISTICS:
    case OP_NORM_BACKWARD:
    case OP_BARRIER: put_word(out, u->norm->name); break;
    case OP_EPILOGUE:
    case OP_EPILOGUE_AGAIN:
    case OP_EPILOGUE_ACTIVATION:
    case OP_EPILOGUE_SECOND:
    case OP_EPILOGUE_BACKWARD: put_epilogue(u, out); break;
    case OP_UNFUSED:
    case OP_UNFUSED_BACKWARD: put_word(out, u->unfused->name); break;
    case OP_ADD_GRADIENT: put_word(out, (u->anchor ? u->anchor : u->unfused)->name); break;
    case OP_LOAD:
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT:
    case OPERATION_KINDS: break; // without a unit
    }
}

// ---- Lines ----

static void put_ranges(const step_plan *plan, const operation *op, text *out) {
    for (int i = op->first_range; i < op->end_range; i++) {
        const gradient_range *r = &plan->ranges[i];
        text_format(out, "%s%zu+%zu", i > op->first_range ? " " : "", r->first, r->count);
    }
}

enum { COLUMNS = 6 };

static void put_row(text *out, const char *const words[COLUMNS]) {
    static const int widths[COLUMNS] = {-9, 8, 19, 23, 19, 0};
    for (int i = 0; i < COLUMNS; i++)
        text_format(out, "%s%*s", i ? "  " : "", -widths[i], words[i]);
    while (out->data[out->length - 1] == ' ') out->data[--out->length] = 0;
    text_append(out, "\n");
}

// `where`: its superstep, or those that it joins.
static void put_operation(const step_plan *plan, int index, const char *where, text *out) {
    const operation *op = &plan->operations[index];
    text layers, shapes, written;
    text_init(&layers), text_init(&shapes), text_init(&written);
    if (op->unit != NO_UNIT) {
        const unit_layers *u = &plan->units->units[op->unit];
        put_layers(plan, u, op->kind, &layers);
        put_shapes(u, op->kind, &shapes);
    }
    put_ranges(plan, op, &written);
    put_row(out, (const char *[COLUMNS]){where, phase_name(operation_phase(op)),
                                         operation_kind_traits[op->kind].name, text_string(&layers),
                                         text_string(&shapes), text_string(&written)});
    text_release(&layers), text_release(&shapes), text_release(&written);
}

void plan_text(const step_plan *plan, text *out) {
    char number[32];
    const program *p = plan->program;
    text_format(out,
                "%d operations in %d supersteps. Gradient buffer: %zu floats (gradients 0+%zu, ",
                plan->operation_count, plan->superstep_count, gradient_floats(p), p->parameters);
    text_format(out, "statistics %zu+%zu, loss %zu+%d).\n\n", p->parameters, p->buffers,
                p->parameters + p->buffers, (int)GRADIENT_TAIL);
    put_row(out, (const char *[COLUMNS]){"superstep", "phase", "operation", "layers", "shapes",
                                         "writes gradients"});
    for (int i = 0; i < plan->superstep_count; i++) {
        const superstep *s = &plan->supersteps[i];
        snprintf(number, sizeof number, "%d", i);
        for (int k = s->first; k < s->end; k++) put_operation(plan, k, number, out);
        snprintf(number, sizeof number, "%d|%d", i, i + 1);
        if (s->joins) put_operation(plan, s->end, number, out);
    }
}
