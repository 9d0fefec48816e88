// SPDX-License-Identifier: MIT
#include "compute/cpu/placement.h"

#include <stdlib.h>

#include "base/memory.h"

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

static int max_int(int a, int b) {
    return a > b ? a : b;
}

// Zero columns that the readers of a unit's y (or of the input) need around it.
static int border_around(const placement *p, int of) {
    int border = 0;
    for (int i = of + 1; i < p->count; i++) {
        const unit_layers *l = &p->units[i].layers;
        if (l->source.unit == of && l->core && l->core->kind == LAYER_CONV)
            border = max_int(border, l->core->pad_w);
    }
    return border;
}

// Zero columns around dz that the input gradient of a convolution reads.
static int border_of_gradient(const unit *u) {
    if (u->layers.first || !u->layers.core || u->layers.core->kind != LAYER_CONV ||
        u->layers.core->stride_w != 1 || u->layers.core->stride_h != 1)
        return 0;
    return max_int(0, u->layers.core->kernel_w - 1 - u->layers.core->pad_w);
}

static place y_of(const placement *p, unit_source s) {
    return s.unit == UNIT_INPUT ? p->input : p->units[s.unit].y;
}

static bool needs_winners(const layer *alone) {
    return alone && alone->kind != LAYER_GELU && alone->kind != LAYER_SILU;
}

static void place_values(placement *p, int index) {
    unit *u = &p->units[index];
    u->x = y_of(p, u->layers.source);
    if (u->layers.sum) u->second = y_of(p, u->layers.second);
    if (!u->layers.alone) u->z = put(p, u->layers.z, border_of_gradient(u));
    if (u->layers.last) return;
    u->y = put(p, u->layers.y, border_around(p, index));
    if (u->layers.pool || needs_winners(u->layers.alone)) {
        u->winner = p->bytes;
        p->bytes += shape_size(u->layers.y) * (size_t)p->lanes;
    }
}

// ---- Gradients ----

static size_t floats_of(const placement *p, shape s) {
    return shape_size(s) * (size_t)p->lanes;
}

// The lowest place for the dy of unit `own`, in the memory from `base` on, that overlaps no
// gradient in use. While unit `at` runs backward, those of the units up to it are in use, if a unit
// has written them; `written` tells. Its own is: pooling and dropout read dy while they write dx.
static size_t lowest_place(const placement *p, const bool *written, int at, int own, size_t base) {
    const size_t need = floats_of(p, p->units[own].layers.y);
    size_t low = base;
    for (int i = 0; i <= at; i++) {
        const unit *u = &p->units[i];
        const size_t begin = u->dy.offset, end = begin + floats_of(p, u->layers.y);
        if (!written[i] || begin >= low + need || end <= low) continue;
        low = end;
        i = -1; // the new place may overlap one that the old place did not
    }
    return low;
}

static void place_gradient(placement *p, bool *written, int at, int own, size_t base) {
    const size_t before = p->floats;
    if (own == UNIT_INPUT || written[own]) return;
    const size_t low = lowest_place(p, written, at, own, base);
    p->floats = low;
    p->units[own].dy = put(p, p->units[own].layers.y, 0);
    written[own] = true;
    if (p->floats < before) p->floats = before;
}

static place dy_of(const placement *p, unit_source s) {
    return s.unit == UNIT_INPUT ? p->input_gradient : p->units[s.unit].dy;
}

static void take_added(placement *p, const unit *u, unit_source s, place dx) {
    const size_t floats = floats_of(p, dx.size);
    if (s.gradient && s.adds && (u->layers.core || u->layers.alone) && floats > p->added_floats)
        p->added_floats = floats;
}

// Backward order: a unit's dy is in use from the last of its readers down to the unit itself.
static status place_gradients(placement *p, bool sends, error *err) {
    const size_t base = p->floats;
    bool *written = memory_new((size_t)p->count, sizeof *written, err);
    if (!written) return STATUS_FAILED;
    if (sends) place_gradient(p, written, p->count - 1, p->count - 1, base);
    for (int i = p->count - 1; i >= 0; i--) {
        unit *u = &p->units[i];
        place_gradient(p, written, i, u->layers.source.unit, base);
        u->dx = dy_of(p, u->layers.source);
        take_added(p, u, u->layers.source, u->dx);
        if (!u->layers.sum) continue;
        place_gradient(p, written, i, u->layers.second.unit, base);
        u->second_dx = dy_of(p, u->layers.second);
    }
    free(written);
    return STATUS_OK;
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

static void place_winograd(placement *p, unit *u, const kernels *k) {
    u->winograd = true;
    take_scratch(p, k->winograd_scratch(u->layers.core));
    u->packed = take_packed(p, winograd_packed_floats(u->layers.core, false));
    if (!u->layers.first)
        u->packed_transposed = take_packed(p, winograd_packed_floats(u->layers.core, true));
}

static void place_weights(placement *p, unit *u, const kernels *k) {
    const layer *l = u->layers.core;
    if (!l) return;
    if (winograd_pays(l)) {
        place_winograd(p, u, k);
        return;
    }
    size_t floats = l->kind == LAYER_LINEAR
                        ? (shape_size(l->in) + GROUP - 1) / GROUP * GROUP
                        : CONV_SCRATCH_OUTPUTS * layer_weights(l) / (size_t)l->out.channels;
    take_scratch(p, floats * GROUP);
    if (l->kind == LAYER_LINEAR) return;
    u->block = k->conv_block_size(l->out.channels, l->out.width);
    u->packed = take_packed(p, conv_packed_floats(l, u->block, false));
    if (u->layers.first || l->stride_h != 1 || l->stride_w != 1) return;
    u->block_transposed = k->conv_block_size(l->in.channels, l->in.width);
    u->packed_transposed = take_packed(p, conv_packed_floats(l, u->block_transposed, true));
}

status placement_init(placement *p, const program *prog, const kernels *k, bool receives,
                      bool sends, error *err) {
    unit_list list;
    *p = (placement){.lanes = k->lanes};
    status rc = units_init(&list, prog, receives, sends, err);
    if (rc != STATUS_OK) return rc;
    p->units = memory_new((size_t)list.count, sizeof *p->units, err);
    if (!p->units) TRY(STATUS_FAILED);
    p->count = list.count;
    p->norms = list.norms;
    p->norm_channels = list.norm_channels;
    for (int i = 0; i < p->count; i++) p->units[i].layers = list.units[i];
    p->input = put(p, prog->input, border_around(p, UNIT_INPUT));
    if (receives) p->input_gradient = put(p, prog->input, 0);
    for (int i = 0; i < p->count; i++) {
        place_values(p, i);
        place_weights(p, &p->units[i], k);
    }
    TRY(place_gradients(p, sends, err));
    // Whole cache lines, but not a multiple of a page: groups that are processed together must not
    // share cache sets.
    p->floats = (p->floats + 15) / 16 * 16 + SLACK;
    p->bytes = (p->bytes + 63) / 64 * 64 + 192;
out:
    units_release(&list);
    if (rc != STATUS_OK) placement_release(p);
    return rc;
}

void placement_release(placement *p) {
    free(p->units);
    *p = (placement){0};
}
