// SPDX-License-Identifier: MIT
#include "compute/plan/within.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

value_range units_place(const unit_list *l, int unit) {
    value_range at = {unit, 0};
    while (at.unit >= 0 && l->units[at.unit].within.unit != UNIT_NONE) {
        const value_range next = l->units[at.unit].within;
        at = (value_range){next.unit, next.feature + at.feature};
    }
    return at;
}

value_range units_gradient_place(const unit_list *l, int unit) {
    value_range at = {unit, 0};
    while (at.unit >= 0 && l->units[at.unit].gradient_within.unit != UNIT_NONE) {
        const value_range next = l->units[at.unit].gradient_within;
        at = (value_range){next.unit, next.feature + at.feature};
    }
    return at;
}

bool units_stays(const unit_list *l, int unit) {
    const unit_layers *u = &l->units[unit];
    if (unit_is_slice(u)) return u->within.unit != UNIT_NONE;
    return u->source.unit >= 0 && l->units[u->source.unit].within.unit == unit;
}

bool units_gradient_stays(const unit_list *l, int unit) {
    const unit_layers *u = &l->units[unit];
    if (unit_is_slice(u)) return u->gradient_within.unit != UNIT_NONE;
    return u->source.unit >= 0 && l->units[u->source.unit].gradient_within.unit == unit;
}

// ---- Finding out ----

// Of the values that lie within one, and of itself; beginning with the input.
typedef struct lying {
    unit_list *list;
    int *border;    // the widest that they need
    bool *reshaped; // one of them is read as another shape
} lying;

// All units that read a value read it as the same shape, so of the input nothing has to be noted.
static void note_reader(const lying *x, shape read, int source) {
    if (source < 0) return;
    const shape y = x->list->units[source].y;
    if (y.channels != read.channels || y.height != read.height || y.width != read.width)
        x->reshaped[source + 1] = true;
}

// Has the y of a unit lie within another one, if it may.
static void lie(const lying *x, int unit, value_range within) {
    value_range *own = &x->list->units[unit].within;
    const int whole = units_place(x->list, within.unit).unit;
    const int a = x->border[unit + 1], b = x->border[whole + 1], border = a > b ? a : b;
    const bool reshaped = x->reshaped[unit + 1] || x->reshaped[whole + 1];
    if (own->unit != UNIT_NONE || (border > 0 && reshaped)) return;
    *own = within;
    x->border[whole + 1] = border;
    x->reshaped[whole + 1] = reshaped;
}

static bool overlap(const unit_layers *a, const unit_layers *b) {
    return a->part.feature < b->part.feature + shape_size(b->y) &&
           b->part.feature < a->part.feature + shape_size(a->y);
}

// Is everything that reads the source of this slice a slice that lies there, and each channel in
// one of them? Then nothing has to be added up.
static bool divides_source(const unit_list *l, const unit_layers *u) {
    size_t covered = 0;
    int slices = 0;
    for (int i = 0; i < l->count; i++) {
        const unit_layers *other = &l->units[i];
        if (!unit_is_slice(other) || other->part.unit != u->part.unit) continue;
        if (other->within.unit == UNIT_NONE || (other != u && overlap(other, u))) return false;
        covered += shape_size(other->y);
        slices++;
    }
    return covered == shape_size(u->x) && slices == units_readers(l, u->part.unit);
}

// Those of a source that is divided are found together: each of them overlaps none.
static void lie_gradients(unit_list *l) {
    bool *divided = memory_new((size_t)l->count + 1, sizeof *divided);
    for (int i = 0; i < l->count; i++)
        divided[i] = unit_is_slice(&l->units[i]) && divides_source(l, &l->units[i]);
    for (int i = 0; i < l->count; i++) {
        unit_layers *u = &l->units[i];
        bool all = divided[i] && u->source.gradient;
        for (int k = 0; all && k < l->count; k++)
            all =
                !unit_is_slice(&l->units[k]) || l->units[k].part.unit != u->part.unit || divided[k];
        if (all) u->gradient_within = u->part;
    }
    free(divided);
}

void units_lie_within(unit_list *l, const int *borders) {
    const size_t values = (size_t)l->count + 1;
    const lying x = {l, memory_new(values, sizeof *x.border),
                     memory_new(values, sizeof *x.reshaped)};
    if (borders) memcpy(x.border, borders, values * sizeof *borders);
    for (int i = 0; i < l->count; i++) {
        const unit_layers *u = &l->units[i];
        note_reader(&x, u->x, u->source.unit);
        if (unit_has_second(u)) note_reader(&x, u->plus ? u->z : u->x, u->second.unit);
    }
    for (int i = 0; i < l->count; i++) {
        const unit_layers *u = &l->units[i];
        const int source = u->source.unit;
        if (!u->moved) continue;
        if (unit_is_slice(u))
            lie(&x, i, u->part);
        else if (source >= 0)
            lie(&x, source, (value_range){i, 0});
        if (!unit_is_slice(u) && units_stays(l, i) && !u->source.adds)
            l->units[source].gradient_within = (value_range){i, 0};
    }
    lie_gradients(l);
    free(x.border);
    free(x.reshaped);
}
