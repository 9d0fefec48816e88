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

// Zero columns that the next unit needs around its input.
static int border_before(const unit *next) {
    return next && next->layers.core && next->layers.core->kind == LAYER_CONV
               ? next->layers.core->pad_w
               : 0;
}

// Zero columns around dz that the input gradient of a convolution reads.
static int border_of_gradient(const unit *u) {
    if (u->layers.first || !u->layers.core || u->layers.core->kind != LAYER_CONV ||
        u->layers.core->stride_w != 1 || u->layers.core->stride_h != 1)
        return 0;
    return max_int(0, u->layers.core->kernel_w - 1 - u->layers.core->pad_w);
}

static void place_unit(placement *p, int index) {
    unit *u = &p->units[index];
    const unit *next = index + 1 < p->count ? &p->units[index + 1] : NULL;
    const place before = index ? p->units[index - 1].y : p->input;
    u->x = before;
    u->dx = index ? p->units[index - 1].dy : p->input_gradient;
    if (!u->layers.alone) u->z = put(p, u->layers.z, border_of_gradient(u));
    if (u->layers.last) return;
    u->y = put(p, u->layers.y, border_before(next));
    u->dy = put(p, u->layers.y, 0);
    if (u->layers.pool || u->layers.alone) {
        u->winner = p->bytes;
        p->bytes += shape_size(u->layers.y) * (size_t)p->lanes;
    }
}

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
    p->input = put(p, prog->input, border_before(&p->units[0]));
    if (receives) p->input_gradient = put(p, prog->input, 0);
    for (int i = 0; i < p->count; i++) {
        place_unit(p, i);
        place_weights(p, &p->units[i], k);
    }
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
