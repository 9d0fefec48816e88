// SPDX-License-Identifier: MIT
// A pipeline stage: an engine whose program is part of a network and runs shard by shard.
#include <string.h>

#include "compute/cpu/engine.h"

// ---- Exchange with the neighbours, on one group ----
static size_t block_floats(place p) {
    return shape_size(p.size) * GROUP;
}

// A place may have a border; a block has none.
static void block_to_place(const engine *e, const float *block, place p, float *memory) {
    const size_t width = (size_t)p.size.width;
    for (int c = 0; c < p.size.channels; c++)
        for (int y = 0; y < p.size.height; y++, block += width * GROUP)
            lanes_import(e, block, memory + p.offset + (size_t)c * p.plane + (size_t)y * p.row,
                         width);
}

static place output_place(const engine *e) {
    return e->placement.units[e->placement.count - 1].y;
}

void stage_operation(const group_work *g, operation_kind kind) {
    const engine *e = g->e;
    const place input = e->placement.input, output = output_place(e);
    const size_t in = (size_t)g->index * block_floats(input),
                 out = (size_t)g->index * block_floats(output);
    switch (kind) {
    case OP_RECEIVE: block_to_place(e, e->stage_in + in, input, g->memory); break;
    case OP_RECEIVE_GRADIENT:
        block_to_place(e, e->stage_in + out, e->placement.units[e->placement.count - 1].dy,
                       g->memory);
        break;
    case OP_SEND: // no unit here reads it, so it has no border
        lanes_export(e, g->memory + output.offset, e->stage_out + out, shape_size(output.size));
        break;
    default:
        lanes_export(e, g->memory + e->placement.input_gradient.offset, e->stage_out + in,
                     shape_size(input.size));
        break;
    }
}

// ---- A step ----
size_t cpu_stage_floats(const engine *e, bool output) {
    return block_floats(output ? output_place(e) : e->placement.input);
}

static void run(engine *e, int first_shard, int end_shard, int first, int end, error *err) {
    ownership_deal(e, first_shard, end_shard);
    step_run(e, first, end, err);
}

status cpu_stage_forward(engine *e, const batch *b, int first_shard, int end_shard, const float *in,
                         float *out, error *err) {
    status rc = cpu_begin(e, b, err);
    if (rc != STATUS_OK) return rc;
    e->stage_in = in;
    e->stage_out = out;
    run(e, first_shard, end_shard, 0, e->training.loss_superstep, err);
    return STATUS_OK;
}

status cpu_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                          error *err) {
    e->given_gradients = e->given_losses = NULL;
    e->stage_in = dout;
    e->stage_out = din;
    run(e, first_shard, end_shard, e->training.loss_superstep, e->training.superstep_count, err);
    return STATUS_OK;
}

// The last run left the cover of its range: all shards, or the last shard that has samples.
void cpu_stage_reduce(engine *e) {
    const program *p = e->program;
    const size_t tail = p->buffers + GRADIENT_TAIL;
    int terms = 0, first = 0, end = 0;
    while (e->run_first > 0 && end < e->options.shards && e->counts[end] > 0) end++;
    for (; first < end; first++)
        terms += reduction_tree_cover(&e->tree, e->shard_leaves[first], e->shard_leaves[first + 1],
                                      e->terms_node + terms);
    if (terms == 0) { // one run, one gradient buffer
        if (e->reduced != e->gradients[0])
            memcpy(e->reduced, e->gradients[0], gradient_floats(p) * sizeof *e->reduced);
        return;
    }
    reduction_tree_sum_part(&e->tree, e->tree.count - 1, e->terms_node,
                            (const float *const *)e->gradients, terms, e->own_first,
                            e->reduced + e->own_first, e->own_end - e->own_first);
    reduction_tree_sum_part(&e->tree, e->tree.count - 1, e->terms_node,
                            (const float *const *)e->gradients, terms, p->parameters,
                            e->reduced + p->parameters, tail);
}
