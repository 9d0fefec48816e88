// SPDX-License-Identifier: MIT
// Steps in parts, for strategies that compute the loss elsewhere (DataParallel) or divide the
// layers among devices (pipelines). Activations and gradients cross as blocks of [features][GROUP].
#include <string.h>

#include "compute/cpu/engine.h"

// ---- Rows of GROUP samples, whatever an engine's own number of lanes ----

static void copy_rows(const float *from, size_t from_lanes, float *to, size_t to_lanes,
                      size_t rows) {
    if (from_lanes == to_lanes) {
        memcpy(to, from, rows * from_lanes * sizeof *to);
        return;
    }
    const size_t both = from_lanes < to_lanes ? from_lanes : to_lanes;
    for (; rows; rows--, from += from_lanes, to += to_lanes) {
        memcpy(to, from, both * sizeof *to);
        memset(to + both, 0, (to_lanes - both) * sizeof *to);
    }
}

void lanes_import(const engine *e, const float *block, float *memory, size_t rows) {
    copy_rows(block, GROUP, memory, (size_t)e->kernels->lanes, rows);
}

static void lanes_export(const engine *e, const float *memory, float *block, size_t rows) {
    copy_rows(memory, (size_t)e->kernels->lanes, block, GROUP, rows);
}

// ---- A step in two halves ----

status cpu_forward(engine *e, const batch *b, error *err) {
    if (!e->options.apart)
        return error_set(err, STATUS_FAILED,
                         "cannot run forward separately: the engine was not opened for it");
    status rc = cpu_begin(e, b, err);
    if (rc != STATUS_OK) return rc;
    step_run(e, 0, e->training.steps.backward_superstep, err);
    return STATUS_OK;
}

status cpu_backward(engine *e, const float *gradients, const float *losses, error *err) {
    e->given_gradients = gradients;
    e->given_losses = losses;
    const step_plan *p = &e->training.steps;
    step_run(e, p->backward_superstep, p->superstep_count, err);
    return STATUS_OK;
}

static size_t logits_block(const engine *e) {
    return (size_t)e->program->classes * GROUP;
}

size_t cpu_logits_floats(const engine *e) {
    return (size_t)e->group_count * logits_block(e);
}

void cpu_gather_logits(engine *e, float *logits) {
    const size_t z = e->placement.units[e->placement.list.count - 1].z.offset;
    for (int g = 0; g < e->group_count; g++)
        lanes_export(e, engine_slot(e, (size_t)g) + z, logits + (size_t)g * logits_block(e),
                     (size_t)e->program->classes);
}

void cpu_loss(engine *e, const batch *whole, float *logits, float *losses) {
    const sample_target *targets = whole->targets;
    const kernels *k = kernels_find(e->kernels->isa, GROUP);
    for (int v = 0; v < whole->shards; v++)
        for (int done = 0; done < whole->count[v]; done += GROUP) {
            const int left = whole->count[v] - done, samples = left < GROUP ? left : GROUP;
            const loss_task t = {.classes = e->program->classes,
                                 .samples = samples,
                                 .smoothing = e->options.label_smoothing,
                                 .logits = logits,
                                 .targets = targets};
            *losses++ = k->loss(&t);
            logits += logits_block(e);
            targets += samples;
        }
}

// ---- A pipeline stage: exchange with the neighbours, on one group ----

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

static const unit *last_unit(const engine *e) {
    return &e->placement.units[e->placement.list.count - 1];
}

// Returns a group's block among those of all groups.
static size_t block_of(const group_work *g, place p) {
    return (size_t)g->index * block_floats(p);
}

void exchange_receive(const group_work *g) {
    const place input = g->e->placement.input;
    block_to_place(g->e, g->e->stage_in + block_of(g, input), input, g->memory);
}

// No unit here reads the output, so it has no border.
void exchange_send(const group_work *g) {
    const place output = last_unit(g->e)->y;
    lanes_export(g->e, g->memory + output.offset, g->e->stage_out + block_of(g, output),
                 shape_size(output.size));
}

void exchange_receive_gradient(const group_work *g) {
    const unit *last = last_unit(g->e);
    block_to_place(g->e, g->e->stage_in + block_of(g, last->y), last->dy, g->memory);
}

void exchange_send_gradient(const group_work *g) {
    const place dx = g->e->placement.input_gradient;
    lanes_export(g->e, g->memory + dx.offset, g->e->stage_out + block_of(g, dx),
                 shape_size(dx.size));
}

// ---- A pipeline stage: a step ----

size_t cpu_stage_floats(const engine *e, bool output) {
    return block_floats(output ? last_unit(e)->y : e->placement.input);
}

static void run_shards(engine *e, int first_shard, int end_shard, int first, int end, error *err) {
    ownership_assign(e, first_shard, end_shard);
    step_run(e, first, end, err);
}

status cpu_stage_forward(engine *e, const batch *b, int first_shard, int end_shard, const float *in,
                         float *out, error *err) {
    status rc = cpu_begin(e, b, err);
    if (rc != STATUS_OK) return rc;
    e->stage_in = in;
    e->stage_out = out;
    run_shards(e, first_shard, end_shard, 0, e->training.steps.backward_superstep, err);
    return STATUS_OK;
}

status cpu_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                          error *err) {
    e->given_gradients = e->given_losses = NULL;
    e->stage_in = dout;
    e->stage_out = din;
    const step_plan *p = &e->training.steps;
    run_shards(e, first_shard, end_shard, p->backward_superstep, p->superstep_count, err);
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
