// SPDX-License-Identifier: MIT
// lifetimes.h - from which operation of a plan to which each value is in use; and an arena, in
// which values that are not in use at the same time share memory.
#ifndef LOCKSTEP_COMPUTE_PLAN_LIFETIMES_H
#define LOCKSTEP_COMPUTE_PLAN_LIFETIMES_H

#include "compute/plan/step_plan.h"

// A gradient of z replaces it.
typedef enum value_kind { VALUE_Z, VALUE_Y, VALUE_DY, VALUE_KINDS } value_kind;

typedef struct lifetime {
    int first, end; // operations; empty: no operation touches the value
} lifetime;

typedef struct lifetimes {
    const step_plan *plan;
    lifetime *values; // [unit + 1][VALUE_KINDS]; UNIT_INPUT: the input is a y
} lifetimes;

// Finds them in a plan of all gradients; in other plans of the same units, which have some of its
// operations in the same order, values are in use no longer. `aside`: weight gradients may run
// until the end. With unit_options.in_place, x, z and both gradients are one value: the y of the
// source.
void lifetimes_init(lifetimes *l, const step_plan *plan, bool aside);
void lifetimes_release(lifetimes *l);

static inline lifetime lifetime_of(const lifetimes *l, int number, value_kind kind) {
    return l->values[(number + 1) * VALUE_KINDS + (int)kind];
}

// ---- Memory ----

typedef struct arena_piece {
    size_t first, end;
    lifetime in_use;
} arena_piece;

typedef struct arena {
    arena_piece *pieces;
    size_t count, room, end; // end: of all pieces
} arena;

// Takes the lowest place for `size` units of memory that no piece has at the same time. Returns
// where it begins.
size_t arena_take(arena *a, size_t size, lifetime in_use);
void arena_release(arena *a);

#endif
