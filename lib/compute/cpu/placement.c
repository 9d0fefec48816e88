// SPDX-License-Identifier: MIT
#include "compute/cpu/placement.h"

#include <stdlib.h>

#include "base/memory.h"
#include "compute/plan/lifetimes.h"
#include "compute/plan/within.h"

// ---- Units ----

static int max_int(int a, int b) {
    return a > b ? a : b;
}

// Winograd's algorithm and linear layers read no padding.
static bool needs_border(const layer *l) {
    return l->kind == LAYER_CONV && !winograd_pays(l);
}

// Zero columns that the readers of each unit's y need around it; first, of the input.
static int *borders_of_readers(const unit_list *list) {
    int *borders = memory_new((size_t)list->count + 1, sizeof *borders);
    for (int i = 0; i < list->count; i++) {
        const unit_layers *u = &list->units[i];
        if (!u->anchor || !needs_border(u->anchor)) continue;
        int *border = &borders[u->source.unit + 1];
        *border = max_int(*border, u->anchor->pad_w);
    }
    return borders;
}

// Those around the values that lie within no other one: as wide as one within them needs.
static int *borders_of_places(const unit_list *list) {
    int *borders = borders_of_readers(list);
    for (int i = 0; i < list->count; i++) {
        int *border = &borders[units_place(list, i).unit + 1];
        *border = max_int(*border, borders[i + 1]);
    }
    return borders;
}

// Is it a whole value, and no other one within it?
static bool lies_alone(const unit_layers *u) {
    return !u->moved && !u->joined && u->within.unit == UNIT_NONE;
}

// A single reader of a y may write to it, unless backward reads it: the ReLU of an epilogue with a
// sum goes by its output.
static bool works_in_place(const unit_list *list, int index) {
    const unit_layers *u = &list->units[index];
    if (u->anchor || u->unfused || u->sum || u->moved || u->joined || u->source.unit == UNIT_INPUT)
        return false;
    const unit_layers *source = &list->units[u->source.unit];
    return units_readers(list, u->source.unit) == 1 && lies_alone(source) &&
           !(source->plus && source->relu);
}

// Not if that would take long, as with most activations, or save little, as with pooling.
static bool computes_again(const unit_list *list, int index) {
    const unit_layers *u = &list->units[index];
    if (list->norms == 0 || index + 1 == list->count || u->unfused || u->smooth || u->pool ||
        u->plus || !lies_alone(u))
        return false;
    const unit_layers *next = &list->units[index + 1];
    return next->anchor && next->source.unit == index && units_readers(list, index) == 1 &&
           (next->anchor->pad_w == 0 || !needs_border(next->anchor));
}

static unit_options options_of(const unit_list *list, int index) {
    const bool in_place = works_in_place(list, index);
    return (unit_options){.in_place = in_place,
                          .on_x = !in_place && unit_can_be_on_x(&list->units[index]),
                          .again = computes_again(list, index),
                          .activation_with_epilogue = true};
}

status placement_units(const program *p, const engine_options *o, unit_list *list, error *err) {
    const status rc = units_init(list, p, o->receives, engine_has_logits(o), err);
    if (rc != STATUS_OK) return rc;
    list->cut = true;
    int *borders = borders_of_readers(list);
    units_lie_within(list, borders);
    free(borders);
    for (int i = 0; i < list->count; i++) list->units[i].options = options_of(list, i);
    return rc;
}

// ---- Places ----

// Kernels may read this many floats past the last place, but never use them.
enum { SLACK = 64 };

// `border` zero columns before and after each row; a row's right border is the next row's left
// border.
static place put(placement *p, shape size, int border) {
    const size_t lanes = (size_t)p->lanes;
    place at = {.size = size};
    at.row = (size_t)(size.width + border) * lanes;
    at.plane = (size_t)size.height * at.row;
    at.offset = p->floats + (size_t)border * lanes;
    p->floats += (size_t)border * lanes + (size_t)size.channels * at.plane;
    return at;
}

static size_t floats_of(const placement *p, shape s) {
    return shape_size(s) * (size_t)p->lanes;
}

// Zero columns around dz that the input gradient of a convolution reads.
static int border_of_gradient(const unit *u) {
    const layer *l = u->layers->anchor;
    int border = 0;
    if (u->layers->first || !l || !needs_border(l)) return 0;
    for (int i = 0; i < l->stride_w; i++) {
        const conv_phase p = conv_phase_of(l->kernel_w, l->stride_w, l->pad_w, i, l->in.width);
        border = max_int(border, p.pad);
        border = max_int(border, p.count + p.taps - 1 - p.pad - l->out.width);
    }
    return border;
}

static place y_of(const placement *p, unit_source s) {
    return s.unit == UNIT_INPUT  ? p->input
           : s.unit == UNIT_NONE ? (place){.offset = 0}
                                 : p->units[s.unit].y;
}

// A byte for each y.
static bool needs_choices(const unit_layers *u) {
    return u->pool || (u->unfused && layer_traits_of(u->unfused)->has_choices);
}

// A place without borders at `offset`.
static place place_at(const placement *p, shape size, size_t offset) {
    const size_t row = (size_t)size.width * (size_t)p->lanes;
    return (place){size, offset, row, (size_t)size.height * row, IN_GROUP};
}

// The place of a part of a value, of this shape: with the border of the whole.
static place part_of(const placement *p, place whole, value_range at, shape size) {
    const size_t positions = (size_t)whole.size.height * (size_t)whole.size.width;
    const size_t offset = whole.offset + at.feature / positions * whole.plane +
                          at.feature % positions * (size_t)p->lanes;
    place part = place_at(p, size, offset);
    part.home = whole.home;
    if (size.height != whole.size.height || size.width != whole.size.width) return part;
    part.row = whole.row;
    part.plane = whole.plane;
    return part;
}

static void take_place(const placement *p, arena *a, place *to, shape size, lifetime in_use) {
    *to = place_at(p, size, arena_take(a, floats_of(p, size), in_use));
}

// Values with zeros around them come first: their memory is not shared.
static void place_bordered(placement *p, int index) {
    unit *u = &p->units[index];
    const unit_layers *l = u->layers;
    const int around_z = border_of_gradient(u), around_y = p->borders[index + 1];
    if (around_z > 0) u->z = put(p, l->z, around_z);
    if (around_y > 0 && l->within.unit == UNIT_NONE) u->y = put(p, l->y, around_y);
}

static bool has_z(const unit_layers *l) {
    return !l->unfused && !l->moved && !l->joined && !unit_z_is_x(l);
}

static void place_values(const placement *p, int index, const lifetimes *t, arena *a) {
    unit *u = &p->units[index];
    const unit_layers *l = u->layers;
    if (has_z(l) && border_of_gradient(u) == 0)
        take_place(p, a, &u->z, l->z, lifetime_of(t, index, VALUE_Z));
    if (l->options.again) {
        u->y = place_at(p, l->y, 0);
        u->y.home = IN_VALUES;
    } else if (!l->last && l->within.unit == UNIT_NONE && p->borders[index + 1] == 0) {
        take_place(p, a, &u->y, l->y, lifetime_of(t, index, VALUE_Y));
    }
}

static void place_within(const placement *p, int index) {
    const value_range at = units_place(&p->list, index);
    unit *u = &p->units[index];
    if (at.unit == index) return;
    u->y = part_of(p, at.unit == UNIT_INPUT ? p->input : p->units[at.unit].y, at, u->layers->y);
}

static void place_sources(placement *p, int index) {
    unit *u = &p->units[index];
    u->x = y_of(p, u->layers->source);
    if (unit_has_second(u->layers)) u->second = y_of(p, u->layers->second);
    if (unit_is_slice(u->layers)) u->x = part_of(p, u->x, u->layers->part, u->layers->y);
    if (unit_z_is_x(u->layers)) u->z = part_of(p, u->x, (value_range){0, 0}, u->layers->z);
    if (!u->layers->last && needs_choices(u->layers)) {
        u->choices = p->bytes;
        p->bytes += shape_size(u->layers->y) * (size_t)p->lanes;
    }
}

// ---- Gradients ----

static place dy_of(const placement *p, unit_source s) {
    return s.unit == UNIT_INPUT  ? p->input_gradient
           : s.unit == UNIT_NONE ? (place){.offset = 0}
                                 : p->units[s.unit].dy;
}

static void place_gradients(const placement *p, const lifetimes *t, arena *a) {
    for (int i = p->list.count - 1; i >= 0; i--) {
        const lifetime in_use = lifetime_of(t, i, VALUE_DY);
        if (in_use.first < in_use.end)
            take_place(p, a, &p->units[i].dy, p->units[i].layers->y, in_use);
    }
    for (int i = 0; i < p->list.count; i++) {
        const value_range at = units_gradient_place(&p->list, i);
        unit *u = &p->units[i];
        const place whole = at.unit == UNIT_INPUT ? p->input_gradient : p->units[at.unit].dy;
        if (at.unit != i && whole.size.channels > 0) u->dy = part_of(p, whole, at, u->layers->y);
    }
    for (int i = 0; i < p->list.count; i++) {
        unit *u = &p->units[i];
        const unit_source source = u->layers->source;
        if (u->layers->options.in_place)
            p->units[source.unit].dy = place_at(p, p->units[source.unit].layers->y, u->z.offset);
        u->dx = dy_of(p, source);
        if (unit_has_second(u->layers)) u->second_dx = dy_of(p, u->layers->second);
    }
}

// In the order of a step: what is in use at the same time has places of its own.
static void place_by_lifetimes(placement *p, const program *prog, const engine_options *o) {
    step_plan plan;
    lifetimes t;
    arena a = {.pieces = NULL};
    step_plan_training(&plan, prog, &p->list, o, 0);
    lifetimes_init(&t, &plan, false);
    (void)arena_take(&a, p->floats, (lifetime){0, plan.operation_count});
    for (int i = 0; i < p->list.count; i++) {
        place_values(p, i, &t, &a);
    }
    for (int i = 0; i < p->list.count; i++) place_within(p, i);
    for (int i = 0; i < p->list.count; i++) place_sources(p, i);
    place_gradients(p, &t, &a);
    p->floats = a.end;
    arena_release(&a);
    lifetimes_release(&t);
    step_plan_release(&plan);
}

// ---- Weights ----

static size_t take_packed(placement *p, size_t floats) {
    const size_t at = p->packed_floats;
    p->packed_floats += (floats + GROUP - 1) / GROUP * GROUP;
    return at;
}

static void take_scratch(placement *p, size_t floats) {
    if (floats > p->scratch_floats) p->scratch_floats = floats;
}

static void place_weights(placement *p, unit *u, const kernels *k) {
    const layer *l = u->layers->anchor;
    if (u->layers->unfused) take_scratch(p, layer_kept(u->layers->unfused) * (size_t)p->lanes);
    if (!l) return;
    u->winograd = winograd_pays(l);
    if (u->winograd) {
        take_scratch(p, k->winograd_scratch(l));
        return;
    }
    size_t floats = l->kind == LAYER_LINEAR
                        ? (shape_size(l->in) + GROUP - 1) / GROUP * GROUP
                        : CONV_SCRATCH_OUTPUTS * layer_weights(l) / (size_t)l->out.channels;
    take_scratch(p, floats * GROUP);
    if (l->kind == LAYER_LINEAR) return;
    const layer part = layer_part(l);
    const size_t parts = (size_t)layer_groups(l);
    u->block = k->conv_block_size(part.out.channels, l->out.width);
    u->packed_part = conv_packed_floats(&part, u->block, false);
    u->packed = take_packed(p, parts * u->packed_part);
    if (u->layers->first) return;
    u->block_transposed =
        k->conv_block_size(part.in.channels, (l->in.width + l->stride_w - 1) / l->stride_w);
    u->packed_transposed_part = conv_packed_floats(&part, u->block_transposed, true);
    u->packed_transposed = take_packed(p, parts * u->packed_transposed_part);
}

status placement_init(placement *p, const program *prog, const kernels *k, const engine_options *o,
                      error *err) {
    *p = (placement){.lanes = k->lanes};
    const status rc = placement_units(prog, o, &p->list, err);
    if (rc != STATUS_OK) return rc;
    p->units = memory_new((size_t)p->list.count, sizeof *p->units);
    p->shares_slots = p->list.norms == 0 && !engine_runs_in_parts(o);
    for (int i = 0; i < p->list.count; i++) p->units[i].layers = &p->list.units[i];
    p->borders = borders_of_places(&p->list);
    p->input = put(p, prog->input, p->borders[0]);
    p->input.home = IN_IMAGES;
    p->image_floats = p->floats + SLACK;
    if (o->receives) p->input_gradient = put(p, prog->input, 0);
    for (int i = 0; i < p->list.count; i++) {
        place_bordered(p, i);
        place_weights(p, &p->units[i], k);
    }
    place_by_lifetimes(p, prog, o);
    // Whole cache lines, but not a multiple of a page: groups that are processed together must not
    // share cache sets.
    p->floats = (p->floats + 15) / 16 * 16 + SLACK;
    p->bytes = (p->bytes + 63) / 64 * 64 + 192;
    return rc;
}

size_t placement_values(const placement *p, const unit *u) {
    return u->layers->options.again
               ? (floats_of(p, u->layers->y) + GROUP - 1) / GROUP * GROUP + SLACK
               : 0;
}

size_t placement_added(const placement *p, const unit *u) {
    const unit_source s = u->layers->source;
    if (!s.gradient || !s.adds || (!u->layers->anchor && !u->layers->unfused)) return 0;
    return (floats_of(p, u->dx.size) + GROUP - 1) / GROUP * GROUP;
}

void placement_release(placement *p) {
    units_release(&p->list);
    free(p->units);
    free(p->borders);
    *p = (placement){0};
}
