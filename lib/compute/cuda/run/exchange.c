// SPDX-License-Identifier: MIT
// Steps in parts, for strategies that compute the loss elsewhere (DataParallel) or divide the
// layers among devices (pipelines). Activations and gradients cross as blocks of [features][GROUP],
// written into the memory of the engine that reads them (peers.c), wherever that is.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/run/cuda_engine.h"

static status copy(const cuda_device *d, void *to, const void *from, size_t floats, error *err) {
    return cuda_enqueue_copy(d, to, from, floats * sizeof(float), cudaMemcpyDefault,
                             "exchanging activations", err);
}

// Runs a piece to its end, for a call that began at `begin`.
static status run_and_book(engine *e, piece p, uint64_t begin, error *err) {
    status rc;
    TRY(cuda_run_piece(e, p, err));
    TRY(cuda_sync(e, err));
    e->clock.inside += clock_now() - begin;
    cuda_book(&e->clock, &e->place, 1);
out:
    return rc;
}

// ---- A step in two halves ----

status cuda_forward(engine *e, const batch *b, error *err) {
    status rc;
    if (!e->plan.options.apart)
        return error_set(err, STATUS_FAILED,
                         "cannot run forward separately: the engine was not opened for it");
    TRY(cuda_prepare(e, b, err));
    const uint64_t begin = clock_now();
    TRY(run_and_book(e, PIECE_FORWARD, begin, err));
out:
    return rc;
}

size_t cuda_logits_floats(const engine *e) {
    return (size_t)e->shards.groups * (size_t)e->plan.program->classes * GROUP;
}

static status gather(engine *e, float *logits, error *err) {
    const cuda_device *d = &e->device;
    const cut c = cuda_cut(e);
    const blocks_task t = {(size_t)e->plan.program->classes, e->input.device.first_group,
                           cuda_last_unit(&e->plan)->z, e->exchange.blocks};
    status rc;
    TRY(cuda_select(d, err));
    cuda_blocks_export(cuda_main(d), &c, &t);
    TRY(cuda_check(d, cudaGetLastError(), "gathering logits", err));
    TRY(copy(d, logits, t.blocks, cuda_logits_floats(e), err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

void cuda_gather_logits(engine *e, float *logits) {
    const uint64_t begin = clock_now();
    cuda_device *d = &e->device;
    if (d->failed == STATUS_OK) d->failed = gather(e, logits, &d->failure);
    e->clock.times.ns[PHASE_COPY] += clock_now() - begin;
}

// The loss kernel treats each group as a shard of GROUP lanes.
static int copy_targets(const exchange_arrays *x, const batch *whole) {
    int groups = 0;
    const sample_target *targets = whole->targets;
    memset(x->targets_host, 0, (size_t)x->all_groups * GROUP * sizeof *targets);
    for (int v = 0; v < whole->shards; v++)
        for (int done = 0; done < whole->count[v]; done += GROUP, groups++) {
            const int left = whole->count[v] - done, samples = left < GROUP ? left : (int)GROUP;
            x->samples_host[groups] = samples;
            memcpy(x->targets_host + (size_t)groups * GROUP, targets,
                   (size_t)samples * sizeof *targets);
            targets += samples;
        }
    return groups;
}

static status loss_of_groups(engine *e, int groups, float *logits, float *losses, error *err) {
    static const char what[] = "sending targets";
    const cuda_device *d = &e->device;
    const exchange_arrays *x = &e->exchange;
    const size_t samples = (size_t)groups * sizeof *x->samples;
    const size_t targets = (size_t)groups * GROUP * sizeof *x->targets;
    const cut c = {0, groups, GROUP, x->samples};
    const cuda_loss_task t = {.classes = e->plan.program->classes,
                              .smoothing = e->plan.options.label_smoothing,
                              .targets = x->targets,
                              .logits = logits,
                              .losses = losses};
    status rc;
    TRY(cuda_select(d, err));
    TRY(cuda_enqueue_copy(d, x->samples, x->samples_host, samples, cudaMemcpyHostToDevice, what,
                          err));
    TRY(cuda_enqueue_copy(d, x->targets, x->targets_host, targets, cudaMemcpyHostToDevice, what,
                          err));
    cuda_loss(cuda_main(d), &c, &t);
    TRY(cuda_check(d, cudaGetLastError(), "computing a loss", err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

void cuda_loss_of_all(engine *e, const batch *whole, float *logits, float *losses) {
    const uint64_t begin = clock_now();
    const int groups = copy_targets(&e->exchange, whole);
    cuda_device *d = &e->device;
    if (d->failed == STATUS_OK) d->failed = loss_of_groups(e, groups, logits, losses, &d->failure);
    e->clock.times.ns[PHASE_FORWARD] += clock_now() - begin;
}

status cuda_backward(engine *e, const float *gradients, const float *losses, error *err) {
    const uint64_t begin = clock_now();
    status rc;
    TRY(cuda_begin(&e->device, err));
    e->arguments.given_gradients = gradients;
    cuda_mark(&e->clock, MARK_COPY, cuda_main(&e->device));
    TRY(copy(&e->device, e->exchange.blocks, gradients, cuda_logits_floats(e), err));
    TRY(copy(&e->device, e->gradients.losses, losses, (size_t)e->shards.groups, err));
    TRY(run_and_book(e, PIECE_BACKWARD, begin, err));
out:
    return rc;
}

// ---- Stages of a pipeline ----

static status run_stage(engine *e, int first_shard, int end_shard, piece p, error *err) {
    e->shards.run_first = first_shard;
    e->shards.run_end = end_shard;
    return run_and_book(e, p, clock_now(), err);
}

// Every range of a step sends the whole step's input: a pipeline's stages meet at each range
// anyway.
status cuda_stage_forward(engine *e, const batch *b, int first_shard, int end_shard,
                          const float *in, float *out, error *err) {
    status rc;
    TRY(cuda_prepare(e, b, err));
    e->arguments.stage_in = in;
    e->arguments.stage_out = out;
    TRY(run_stage(e, first_shard, end_shard, PIECE_FORWARD, err));
out:
    return rc;
}

status cuda_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                           error *err) {
    status rc;
    TRY(cuda_begin(&e->device, err));
    e->arguments.given_gradients = NULL;
    e->arguments.stage_in = dout;
    e->arguments.stage_out = din;
    TRY(run_stage(e, first_shard, end_shard, PIECE_BACKWARD, err));
out:
    return rc;
}

void cuda_stage_reduce(engine *e) {
    const uint64_t begin = clock_now();
    cuda_device *d = &e->device;
    e->shards.run_first = 0;
    e->shards.run_end = cuda_own_shards(&e->shards);
    if (d->failed == STATUS_OK)
        d->failed = cuda_sum_gradients(e, 0, e->gradients.floats, cuda_main(d), &d->failure);
    e->clock.times.ns[PHASE_BACKWARD] += clock_now() - begin;
}

// ---- Operations that receive and send a stage's data ----

// Returns the groups of local shards [first, end).
static void groups_of(const step_shards *s, const int *at, int first, int end, size_t *first_group,
                      size_t *count) {
    const int shards = cuda_own_shards(s);
    *first_group = (size_t)(first < shards ? at[first] : s->groups);
    *count = (size_t)(end < shards ? at[end] : s->groups) - *first_group;
}

status cuda_receive_blocks(const engine *e, const cut *c, bool output, error *err) {
    const size_t floats = cuda_block_floats(&e->plan, output);
    const blocks_task t = {floats / GROUP, e->input.device.first_group,
                           output ? cuda_last_unit(&e->plan)->dy : e->plan.input,
                           (float *)e->arguments.stage_in}; // only read
    cuda_blocks_import(cuda_main(&e->device), c, &t);
    return cuda_check(&e->device, cudaGetLastError(), "exchanging activations", err);
}

status cuda_send_blocks(const engine *e, const cut *c, bool output, error *err) {
    const cuda_device *d = &e->device;
    const size_t floats = cuda_block_floats(&e->plan, output);
    float *const blocks = e->exchange.blocks;
    const blocks_task t = {floats / GROUP, e->input.device.first_group,
                           output ? cuda_last_unit(&e->plan)->y : e->plan.input_gradient, blocks};
    size_t first, count;
    status rc;
    groups_of(&e->shards, e->input.host.first_group, c->first, c->end, &first, &count);
    cuda_blocks_export(cuda_main(d), c, &t);
    TRY(copy(d, e->arguments.stage_out + first * floats, blocks + first * floats, count * floats,
             err));
    rc = cuda_check(d, cudaGetLastError(), "exchanging activations", err);
out:
    return rc;
}
