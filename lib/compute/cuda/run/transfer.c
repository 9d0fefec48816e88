// SPDX-License-Identifier: MIT
// Operations of a step that receive and send a pipeline stage's data: they convert between its
// activations and blocks of [features][GROUP].
#include "compute/cuda/run/engine.h"

// Returns the groups of local shards [first, end).
static void groups_of(const step_shards *s, const int *at, int first, int end, size_t *first_group,
                      size_t *count) {
    const int shards = cuda_own_shards(s);
    *first_group = (size_t)(first < shards ? at[first] : s->groups);
    *count = (size_t)(end < shards ? at[end] : s->groups) - *first_group;
}

status cuda_exchange_operation(const engine *e, const cut *c, operation_kind kind, error *err) {
    const cuda_device *d = &e->device;
    const cuda_unit *last = cuda_last_unit(&e->plan);
    const bool output = kind == OP_SEND || kind == OP_RECEIVE_GRADIENT;
    const size_t floats = cuda_block_floats(&e->plan, output);
    float *const blocks = e->exchange.blocks;
    size_t first, count;
    blocks_task t = {floats / GROUP, e->input.device.first_group, NULL, blocks};
    status rc = STATUS_OK;
    groups_of(&e->shards, e->input.host.first_group, c->first, c->end, &first, &count);
    switch (kind) {
    case OP_RECEIVE:
    case OP_RECEIVE_GRADIENT:
        t.activation = output ? last->dy : e->plan.input;
        t.blocks = (float *)e->arguments.stage_in;
        // only read
        cuda_blocks_import(cuda_main(d), c, &t);
        break;
    default:
        t.activation = output ? last->y : e->plan.input_gradient;
        cuda_blocks_export(cuda_main(d), c, &t);
        TRY(cuda_enqueue_copy(d, e->arguments.stage_out + first * floats, blocks + first * floats,
                              count * floats * sizeof(float), cudaMemcpyDefault,
                              "exchanging activations", err));
        break;
    }
    rc = cuda_check(d, cudaGetLastError(), "exchanging activations", err);
out:
    return rc;
}
