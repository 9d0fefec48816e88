// SPDX-License-Identifier: MIT
// Steps in parts, for strategies that compute the loss elsewhere (DataParallel) or divide the
// layers among devices (pipelines). Activations and gradients cross as blocks of [features][GROUP],
// written into the memory of the engine that reads them (peers.c), wherever that is.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/engine.h"

static status copy(const engine *e, void *to, const void *from, size_t floats, error *err) {
    return cuda_check(
        e, cudaMemcpyAsync(to, from, floats * sizeof(float), cudaMemcpyDefault, e->stream),
        "exchanging activations", err);
}

// ---- A step in two halves ----

status cuda_forward(engine *e, const batch *b, error *err) {
    status rc;
    if (!e->options.apart)
        return error_set(err, STATUS_FAILED,
                         "cannot run forward separately: the engine was not opened for it");
    TRY(cuda_prepare(e, b, err));
    const uint64_t begin = clock_now();
    TRY(cuda_run_piece(e, PIECE_FORWARD, err));
    TRY(cuda_sync(e, err));
    e->inside += clock_now() - begin;
    cuda_book(e, 1);
out:
    return rc;
}

size_t cuda_logits_floats(const engine *e) {
    return (size_t)e->group_count * (size_t)e->program->classes * GROUP;
}

static status gather(engine *e, float *logits, error *err) {
    const cuda_unit *last = &e->placed[e->units.count - 1];
    const cut c = cuda_cut(e);
    const blocks_task t = {(size_t)e->program->classes, e->device.first_group, last->z, e->blocks};
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    cuda_blocks_export(cuda_main(e), &c, &t);
    TRY(cuda_check(e, cudaGetLastError(), "gathering logits", err));
    TRY(copy(e, logits, e->blocks, cuda_logits_floats(e), err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

void cuda_gather_logits(engine *e, float *logits) {
    const uint64_t begin = clock_now();
    if (e->failed == STATUS_OK) e->failed = gather(e, logits, &e->failure);
    e->ns[PHASE_COPY] += clock_now() - begin;
}

// The loss kernel treats each group as a shard of GROUP lanes.
static int copy_targets(engine *e, const batch *whole) {
    int groups = 0;
    const sample_target *targets = whole->targets;
    memset(e->group_targets_host, 0, (size_t)e->all_groups * GROUP * sizeof *targets);
    for (int v = 0; v < whole->shards; v++)
        for (int done = 0; done < whole->count[v]; done += GROUP, groups++) {
            const int left = whole->count[v] - done, samples = left < GROUP ? left : (int)GROUP;
            e->group_samples_host[groups] = samples;
            memcpy(e->group_targets_host + (size_t)groups * GROUP, targets,
                   (size_t)samples * sizeof *targets);
            targets += samples;
        }
    return groups;
}

static status loss_of_groups(engine *e, int groups, float *logits, float *losses, error *err) {
    const cut c = {0, groups, GROUP, e->group_samples};
    const loss_task t = {.classes = e->program->classes,
                         .smoothing = e->options.label_smoothing,
                         .targets = e->group_targets,
                         .logits = logits,
                         .losses = losses};
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_check(e,
                   cudaMemcpyAsync(e->group_samples, e->group_samples_host,
                                   (size_t)groups * sizeof(int), cudaMemcpyHostToDevice, e->stream),
                   "sending targets", err));
    TRY(cuda_check(e,
                   cudaMemcpyAsync(e->group_targets, e->group_targets_host,
                                   (size_t)groups * GROUP * sizeof *e->group_targets,
                                   cudaMemcpyHostToDevice, e->stream),
                   "sending targets", err));
    cuda_loss(cuda_main(e), &c, &t);
    TRY(cuda_check(e, cudaGetLastError(), "computing a loss", err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

void cuda_loss_of_all(engine *e, const batch *whole, float *logits, float *losses) {
    const uint64_t begin = clock_now();
    const int groups = copy_targets(e, whole);
    if (e->failed == STATUS_OK) e->failed = loss_of_groups(e, groups, logits, losses, &e->failure);
    e->ns[PHASE_FORWARD] += clock_now() - begin;
}

status cuda_backward(engine *e, const float *gradients, const float *losses, error *err) {
    const uint64_t begin = clock_now();
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    e->given_gradients = gradients;
    cuda_mark(e, MARK_COPY);
    TRY(copy(e, e->blocks, gradients, cuda_logits_floats(e), err));
    TRY(copy(e, e->losses, losses, (size_t)e->group_count, err));
    TRY(cuda_run_piece(e, PIECE_BACKWARD, err));
    TRY(cuda_sync(e, err));
    e->inside += clock_now() - begin;
    cuda_book(e, 1);
out:
    return rc;
}

// ---- Stages of a pipeline ----

static status run_stage(engine *e, int first_shard, int end_shard, piece p, error *err) {
    const uint64_t begin = clock_now();
    status rc;
    e->run_first = first_shard;
    e->run_end = end_shard;
    TRY(cuda_run_piece(e, p, err));
    TRY(cuda_sync(e, err));
    e->inside += clock_now() - begin;
    cuda_book(e, 1);
out:
    return rc;
}

// Every range of a step sends the whole step's input: a pipeline's stages meet at each range
// anyway.
status cuda_stage_forward(engine *e, const batch *b, int first_shard, int end_shard,
                          const float *in, float *out, error *err) {
    status rc;
    TRY(cuda_prepare(e, b, err));
    e->stage_in = in;
    e->stage_out = out;
    TRY(run_stage(e, first_shard, end_shard, PIECE_FORWARD, err));
out:
    return rc;
}

status cuda_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                           error *err) {
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    e->given_gradients = NULL;
    e->stage_in = dout;
    e->stage_out = din;
    TRY(run_stage(e, first_shard, end_shard, PIECE_BACKWARD, err));
out:
    return rc;
}

void cuda_stage_reduce(engine *e) {
    const uint64_t begin = clock_now();
    e->run_first = 0;
    e->run_end = e->counts_end - e->counts_first;
    if (e->failed == STATUS_OK)
        e->failed = cuda_sum_records(e, 0, e->record, cuda_main(e), &e->failure);
    e->ns[PHASE_BACKWARD] += clock_now() - begin;
}
