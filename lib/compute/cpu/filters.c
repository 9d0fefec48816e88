// SPDX-License-Identifier: MIT
// The filters of convolutions by Winograd's algorithm, transformed: four times the memory of the
// weights, for each direction. So a step with batch norm, whose supersteps all threads begin
// together, keeps only those of one superstep, and transforms them before it.
#include "compute/cpu/engine.h"

static bool is_product(const operation *op) {
    return (op->kind == OP_ANCHOR || op->kind == OP_ANCHOR_INPUT) && op->unit->winograd;
}

void filters_place(sequence *s, bool by_superstep) {
    size_t floats = 0;
    for (int i = 0; i < s->superstep_count; i++) {
        if (by_superstep) floats = 0;
        for (int k = s->supersteps[i].first; k < s->supersteps[i].end; k++) {
            operation *op = &s->operations[k];
            if (!is_product(op)) continue;
            op->filters = floats;
            floats += winograd_packed_floats(op->unit->layers.anchor, op->kind == OP_ANCHOR_INPUT);
        }
        if (floats > s->filter_floats) s->filter_floats = floats;
    }
}

void filters_transform(const engine *e, const sequence *s, int first, int end, int member) {
    const int members = team_size(e->team);
    for (int i = first; i < end; i++) {
        const operation *op = &s->operations[i];
        if (!is_product(op)) continue;
        const layer *l = op->unit->layers.anchor;
        const bool transpose = op->kind == OP_ANCHOR_INPUT;
        const int blocks = winograd_packed_blocks(l, transpose);
        e->kernels->winograd_pack(l, e->parameters + l->weight, transpose,
                                  blocks * member / members, blocks * (member + 1) / members,
                                  s->filters + op->filters);
    }
}
