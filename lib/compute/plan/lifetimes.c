// SPDX-License-Identifier: MIT
#include "compute/plan/lifetimes.h"

#include <stdlib.h>

#include "base/memory.h"
#include "compute/plan/within.h"

// ---- Values that operations touch ----

enum { X = 1, SECOND = 2, Z = 4, Y = 8, DX = 16, DSECOND = 32, DY = 64 };

static const int touched[OPERATION_KINDS] = {
    [OP_LOAD] = X,
    [OP_RECEIVE] = X,
    [OP_ANCHOR] = X | SECOND | Z,
    [OP_MOMENTS] = Z,
    [OP_EPILOGUE] = Z | SECOND | Y,
    [OP_UNFUSED] = X | SECOND | Y,
    [OP_COPY] = X | Y,
    [OP_SEND] = Z | Y,
    [OP_LOSS] = Z,
    [OP_RECEIVE_GRADIENT] = Z | DY,
    [OP_EPILOGUE_ACTIVATION] = Z | Y | DY,
    [OP_EPILOGUE_SECOND] = DY | DSECOND,
    [OP_EPILOGUE_SUMS] = Z | Y | DY,
    [OP_EPILOGUE_BACKWARD] = Z | Y | DY,
    [OP_EPILOGUE_AGAIN] = Z | Y,
    [OP_ANCHOR_WEIGHTS] = X | Z,
    [OP_ANCHOR_INPUT] = Z | DX | DSECOND,
    [OP_UNFUSED_BACKWARD] = X | SECOND | Y | DY | DX | DSECOND,
    [OP_COPY_GRADIENT] = DY | DX,
    [OP_ADD_GRADIENT] = DX | DSECOND,
    [OP_SEND_GRADIENT] = DX,
};

// The value that a unit's z is; the gradient of its y; and what they lie within.
static lifetime *find(const lifetimes *l, int unit, value_kind kind) {
    const unit_list *units = l->plan->units;
    if (kind == VALUE_Z && unit_z_is_x(&units->units[unit]))
        return find(l, units->units[unit].source.unit, VALUE_Y);
    if (kind == VALUE_DY) unit = units_gradient_place(units, unit).unit;
    for (int i = unit + 1; kind == VALUE_DY && i < units->count; i++)
        if (units->units[i].source.unit == unit && units->units[i].options.in_place) kind = VALUE_Y;
    if (kind == VALUE_Y) unit = units_place(units, unit).unit;
    return &l->values[(unit + 1) * VALUE_KINDS + (int)kind];
}

static void touch(const lifetimes *l, int unit, value_kind kind, int first, int end) {
    lifetime *t = find(l, unit, kind);
    if (t->first == t->end) t->first = first;
    if (t->end < end) t->end = end;
}

static void touch_operands(const lifetimes *l, int i, bool aside) {
    const operation *op = &l->plan->operations[i];
    const unit_layers *u = op->unit == NO_UNIT ? NULL : &l->plan->units->units[op->unit];
    const bool until_end = aside && op->kind == OP_ANCHOR_WEIGHTS;
    const int end = until_end ? l->plan->operation_count : i + 1;
    const int x = u ? u->source.unit : UNIT_INPUT;
    const bool with_y = op->kind == OP_ANCHOR && (u->options.epilogue_with_anchor ||
                                                  u->options.inference_epilogue_with_anchor);
    const bool with_dy = op->kind == OP_ANCHOR_INPUT && u->options.on_x;
    const int outputs = u && u->last ? Y | DY : 0; // the logits are a z
    const int what = (touched[op->kind] | (with_y ? Y : 0) | (with_dy ? DY : 0)) & ~outputs;
    if (what & X) touch(l, x, VALUE_Y, i, end);
    if (what & DX) touch(l, x, VALUE_DY, i, end);
    if (!u) return;
    if (what & Z) touch(l, op->unit, VALUE_Z, i, end);
    if (what & Y) touch(l, op->unit, VALUE_Y, i, end);
    if (what & DY) touch(l, op->unit, VALUE_DY, i, end);
    if (!unit_has_second(u)) return;
    if (what & SECOND) touch(l, u->second.unit, VALUE_Y, i, end);
    if (what & DSECOND) touch(l, u->second.unit, VALUE_DY, i, end);
}

void lifetimes_init(lifetimes *l, const step_plan *plan, bool aside) {
    const size_t values = ((size_t)plan->units->count + 1) * VALUE_KINDS;
    *l = (lifetimes){plan, memory_new(values, sizeof *l->values)};
    for (int i = 0; i < plan->operation_count; i++) touch_operands(l, i, aside);
}

void lifetimes_release(lifetimes *l) {
    free(l->values);
    *l = (lifetimes){.values = NULL};
}

// ---- Memory ----

static bool meets(const arena_piece *p, size_t first, size_t end, lifetime in_use) {
    return p->first < end && first < p->end && p->in_use.first < in_use.end &&
           in_use.first < p->in_use.end;
}

size_t arena_take(arena *a, size_t size, lifetime in_use) {
    size_t first = 0, i = 0;
    while (i < a->count)
        if (meets(&a->pieces[i], first, first + size, in_use)) {
            first = a->pieces[i].end;
            i = 0; // the new place may meet one that the old place did not
        } else {
            i++;
        }
    a->pieces = memory_grow(a->pieces, &a->room, a->count + 1, sizeof *a->pieces);
    a->pieces[a->count++] = (arena_piece){first, first + size, in_use};
    if (a->end < first + size) a->end = first + size;
    return first;
}

void arena_release(arena *a) {
    free(a->pieces);
    *a = (arena){.pieces = NULL};
}
