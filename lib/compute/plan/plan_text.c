// SPDX-License-Identifier: MIT
#include "compute/plan/plan_text.h"

#include <stdlib.h>

#include "base/memory.h"
#include "compute/plan/within.h"

// The values of a unit (units.h); gradients have the same shapes.
typedef enum unit_value { NO_VALUE, VALUE_X, VALUE_Z, VALUE_Y } unit_value;

// What an operation reads and writes. One that writes no value of the unit only has the first.
static const unit_value values[OPERATION_KINDS][2] = {
    [OP_ANCHOR] = {VALUE_X, VALUE_Z},
    [OP_MOMENTS] = {VALUE_Z},
    [OP_EPILOGUE] = {VALUE_Z, VALUE_Y},
    [OP_UNFUSED] = {VALUE_X, VALUE_Y},
    [OP_COPY] = {VALUE_X, VALUE_Y},
    [OP_SEND] = {VALUE_Y},
    [OP_LOSS] = {VALUE_Z},
    [OP_RECEIVE_GRADIENT] = {VALUE_Y},
    [OP_EPILOGUE_ACTIVATION] = {VALUE_Y},
    [OP_EPILOGUE_SECOND] = {VALUE_Y},
    [OP_EPILOGUE_SUMS] = {VALUE_Y},
    [OP_EPILOGUE_BACKWARD] = {VALUE_Y, VALUE_Z},
    [OP_EPILOGUE_AGAIN] = {VALUE_Z, VALUE_Y},
    [OP_ANCHOR_WEIGHTS] = {VALUE_Z},
    [OP_ANCHOR_INPUT] = {VALUE_Z, VALUE_X},
    [OP_UNFUSED_BACKWARD] = {VALUE_Y, VALUE_X},
    [OP_COPY_GRADIENT] = {VALUE_Y, VALUE_X},
    [OP_ADD_GRADIENT] = {VALUE_X},
};

static void put_shape(shape s, text *out) {
    text_format(out, "%d", s.channels);
    if (s.height * s.width > 1) text_format(out, "x%dx%d", s.height, s.width);
}

static shape shape_of(const unit_layers *u, unit_value v) {
    return v == VALUE_X ? u->x : v == VALUE_Z ? u->z : u->y;
}

static void put_shapes(const unit_layers *u, operation_kind kind, text *out) {
    const unit_value from = values[kind][0], to = values[kind][1];
    if (from != NO_VALUE) put_shape(shape_of(u, from), out);
    if (to == NO_VALUE) return;
    text_append(out, " > ");
    put_shape(shape_of(u, to), out);
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

// A slice, or an input of a concat with its channels there.
static void put_moved(const step_plan *plan, const unit_layers *u, text *out) {
    const program *p = plan->program;
    const int number = (int)(u->moved - p->layers);
    put_word(out, u->moved->name);
    if (layer_traits_of(u->moved)->role != ROLE_CONCAT) return;
    const int first_input = u->part.unit - layer_inputs(u->moved);
    const int input = (int)(u - plan->units->units) - first_input;
    const int from = layer_input_source(p, number, input);
    const size_t positions = (size_t)u->x.height * (size_t)u->x.width;
    const size_t channel = u->part.feature / positions;
    text_format(out, " %zu-%zu: %s", channel, channel + (size_t)u->x.channels - 1,
                from < 0 ? "input" : p->layers[from].name);
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

static void put_loss(const step_plan *plan, const unit_layers *u, text *out) {
    const program *p = plan->program;
    if (u->flattens)
        put_word(out, p->layers[program_logits(p)].name);
    else
        put_anchor(u, out);
    if (program_logits(p) < p->count - 1) put_word(out, p->layers[p->count - 1].name);
}

static void put_layers(const step_plan *plan, const unit_layers *u, operation_kind kind,
                       text *out) {
    switch (kind) {
    case OP_ANCHOR: put_anchor_forward(u, out); break;
    case OP_LOSS: put_loss(plan, u, out); break;
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
    case OP_COPY:
    case OP_COPY_GRADIENT: put_moved(plan, u, out); break;
    case OP_ADD_GRADIENT: put_word(out, (u->anchor ? u->anchor : u->unfused)->name); break;
    case OP_LOAD:
    case OP_RECEIVE:
    case OP_SEND:
    case OP_RECEIVE_GRADIENT:
    case OP_SEND_GRADIENT:
    case OPERATION_KINDS: break; // of no layer
    }
}

// ---- Lines ----

enum { SUPERSTEP, PHASE, OPERATION, LAYERS, SHAPES, CUT, GRADIENTS, COLUMNS };

typedef struct row {
    text words[COLUMNS];
} row;

static void put_ranges(const step_plan *plan, const operation *op, text *out) {
    for (int i = op->first_range; i < op->end_range; i++) {
        const gradient_range *r = &plan->ranges[i];
        text_format(out, "%s%zu+%zu", i > op->first_range ? " " : "", r->first, r->count);
    }
}

static row titles(void) {
    static const char *const words[COLUMNS] = {
        [SUPERSTEP] = "superstep", [PHASE] = "phase",   [OPERATION] = "operation",
        [LAYERS] = "layers",       [SHAPES] = "shapes", [CUT] = "cut",
        [GRADIENTS] = "writes"};
    row r = {0};
    for (int i = 0; i < COLUMNS; i++) text_append(&r.words[i], words[i]);
    return r;
}

static const char *const cuts[] = {
    [CUT_NOT] = "", [CUT_AREAS] = "areas", [CUT_CHANNELS] = "channels", [CUT_EACH] = "each"};

static row row_of(const step_plan *plan, int superstep_number, const operation *op) {
    row r = {0};
    const unit_layers *u = op->unit == NO_UNIT ? NULL : &plan->units->units[op->unit];
    text_format(&r.words[SUPERSTEP], "%d", superstep_number);
    if (operation_kind_traits[op->kind].joins)
        text_format(&r.words[SUPERSTEP], "|%d", superstep_number + 1);
    text_append(&r.words[PHASE], phase_name(operation_phase(op)));
    text_append(&r.words[OPERATION], operation_kind_traits[op->kind].name);
    if (u) put_layers(plan, u, op->kind, &r.words[LAYERS]);
    if (u) put_shapes(u, op->kind, &r.words[SHAPES]);
    if (op->kind == OP_LOAD) put_shape(plan->program->input, &r.words[SHAPES]);
    text_append(&r.words[CUT], cuts[op->cut]);
    put_ranges(plan, op, &r.words[GRADIENTS]);
    return r;
}

static void put_row(const row *r, const int *widths, text *out) {
    for (int i = 0; i < COLUMNS; i++)
        text_format(out, "%s%*s", i ? "  " : "", i == SUPERSTEP ? widths[i] : -widths[i],
                    text_string(&r->words[i]));
    while (out->data[out->length - 1] == ' ') out->data[--out->length] = 0;
    text_append(out, "\n");
}

static void put_table(row *rows, int count, text *out) {
    int widths[COLUMNS] = {0};
    for (int k = 0; k < count; k++)
        for (int i = 0; i < COLUMNS; i++)
            if ((int)rows[k].words[i].length > widths[i]) widths[i] = (int)rows[k].words[i].length;
    for (int k = 0; k < count; k++) {
        put_row(&rows[k], widths, out);
        for (int i = 0; i < COLUMNS; i++) text_release(&rows[k].words[i]);
    }
}

// What needs no OP_COPY.
static void put_in_place(const step_plan *plan, text *out) {
    bool any = false;
    for (int i = 0; i < plan->units->count; i++) {
        const unit_layers *u = &plan->units->units[i];
        if (!u->moved || !units_stays(plan->units, i)) continue;
        text line = {0};
        put_moved(plan, u, &line);
        text_format(out, "%s%s%s\n", any ? "" : "\nin place, not copied:\n", text_string(&line),
                    units_gradient_stays(plan->units, i) ? ", and its gradient" : "");
        any = true;
        text_release(&line);
    }
}

void plan_text(const step_plan *plan, text *out) {
    const program *p = plan->program;
    row *rows = memory_new((size_t)plan->operation_count + 1, sizeof *rows);
    int count = 0;
    text_format(out, "%d operations in %d superstep%s\n", plan->operation_count,
                plan->superstep_count, plan->superstep_count == 1 ? "" : "s");
    text_format(out, "gradient buffer, first float + count: gradients 0+%zu, statistics %zu+%zu, ",
                p->parameters, p->parameters, p->buffers);
    text_format(out, "loss %zu+%d\n\n", p->parameters + p->buffers, (int)GRADIENT_TAIL);
    rows[count++] = titles();
    for (int i = 0; i < plan->superstep_count; i++) {
        const superstep *s = &plan->supersteps[i];
        for (int k = s->first; k < s->end + s->joins; k++)
            rows[count++] = row_of(plan, i, &plan->operations[k]);
    }
    put_table(rows, count, out);
    put_in_place(plan, out);
    free(rows);
}
