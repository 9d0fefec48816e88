// SPDX-License-Identifier: MIT
// Operations of a step that receive and send a pipeline stage's data: they convert between its
// activations and blocks of [features][GROUP].
#include "compute/cuda/engine.h"

static shape output_shape(const engine *e) {
    return e->units.units[e->units.count - 1].y;
}

size_t cuda_stage_floats(const engine *e, bool output) {
    return shape_size(output ? output_shape(e) : e->program->input) * GROUP;
}

// Returns the groups of local shards [first, end).
static void groups_of(const engine *e, int first, int end, size_t *first_group, size_t *count) {
    const int *at = e->host.first_group;
    const int shards = e->counts_end - e->counts_first;
    *first_group = (size_t)(first < shards ? at[first] : e->group_count);
    *count = (size_t)(end < shards ? at[end] : e->group_count) - *first_group;
}

status cuda_exchange_operation(engine *e, const cut *c, operation_kind kind, error *err) {
    const cuda_unit *last = &e->placed[e->units.count - 1];
    const bool output = kind == OP_SEND || kind == OP_RECEIVE_GRADIENT;
    const size_t floats = cuda_stage_floats(e, output);
    size_t first, count;
    blocks_task t = {
        .features = floats / GROUP, .first_group = e->device.first_group, .blocks = e->blocks};
    status rc;
    groups_of(e, c->first, c->end, &first, &count);
    switch (kind) {
    case OP_RECEIVE:
    case OP_RECEIVE_GRADIENT:
        t.activation = output ? last->dy : e->input;
        t.blocks = (float *)e->stage_in; // only read
        cuda_blocks_import(cuda_main(e), c, &t);
        break;
    default:
        t.activation = output ? last->y : e->input_gradient;
        cuda_blocks_export(cuda_main(e), c, &t);
        TRY(cuda_check(e,
                       cudaMemcpyAsync(e->stage_out + first * floats, e->blocks + first * floats,
                                       count * floats * sizeof(float), cudaMemcpyDefault,
                                       e->stream),
                       "exchanging activations", err));
        break;
    }
    rc = cuda_check(e, cudaGetLastError(), "exchanging activations", err);
out:
    return rc;
}
