// SPDX-License-Identifier: MIT
#include "compute/cpu/packing.h"

static void pack(const execution *e, const unit *u, bool transpose) {
    const layer part = layer_part(u->layers->anchor);
    const float *weight = e->parameters + u->layers->anchor->weight;
    float *packed = e->packed + (transpose ? u->packed_transposed : u->packed);
    for (int i = 0; i < layer_groups(u->layers->anchor); i++) {
        conv_pack(&part, weight, transpose ? u->block_transposed : u->block, transpose, packed);
        weight += layer_weights(&part);
        packed += transpose ? u->packed_transposed_part : u->packed_part;
    }
}

// Without Winograd's algorithm: for the forward pass and, where it is needed, for the input
// gradient.
static void pack_all(const execution *e, int member) {
    const int members = e->threads;
    for (int i = 0, copies = 0; i < e->placement.list.count; i++) {
        const unit *u = &e->placement.units[i];
        if (!u->layers->anchor || u->layers->anchor->kind != LAYER_CONV || u->winograd) continue;
        if (copies++ % members == member) pack(e, u, false);
        if (u->packed_transposed && copies++ % members == member) pack(e, u, true);
    }
}

void packing_transform(const execution *e, const cpu_plan *p, int first, int end, int member) {
    const int members = e->threads;
    for (int i = first; i < end; i++) {
        const operation *op = &p->steps.operations[i];
        if (!is_winograd(e, op)) continue;
        const layer *l = unit_of(e, op)->layers->anchor;
        const bool transpose = op->kind == OP_ANCHOR_INPUT;
        const int blocks = winograd_packed_blocks(l, transpose);
        e->kernels->winograd_pack(l, e->parameters + l->weight, transpose,
                                  blocks * member / members, blocks * (member + 1) / members,
                                  p->filters + p->filters_at[i]);
    }
}

void packing_update(const execution *e, const cpu_plan *training, int member) {
    if (!training->by_superstep)
        packing_transform(e, training, 0, training->steps.operation_count, member);
    pack_all(e, member);
}

typedef struct packing {
    const execution *e;
    const cpu_plan *training;
} packing;

static void body(void *argument, int member) {
    const packing *p = argument;
    packing_update(p->e, p->training, member);
}

void packing_run(team *t, const execution *e, const cpu_plan *training) {
    team_run(t, body, &(packing){e, training});
}
