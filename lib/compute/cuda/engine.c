// SPDX-License-Identifier: MIT
// The lifetime of a CUDA engine, and parameters in and out. The backend's table is at the end.
#include "compute/cuda/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/group/group.h"
#include "compute/cuda/kernels/limits.h"

// ---- Opening ----

static status check_options(const program *p, const engine_options *o, error *err) {
    if (!o->receives && p->input.channels > ENGINE_MAX_CHANNELS)
        return error_set(err, STATUS_USAGE, "cannot run this model: more than %d input channels",
                         (int)ENGINE_MAX_CHANNELS);
    if (o->shards < 1 || o->local_shards < 1 || o->local_shards > o->shards || o->shard_samples < 1)
        return error_set(err, STATUS_USAGE,
                         "cannot open a cuda engine: shards and samples must be at least 1");
    return STATUS_OK;
}

static status make_event(const engine *e, cudaEvent_t *event, error *err) {
    return cuda_check(e, cudaEventCreateWithFlags(event, cudaEventDisableTiming),
                      "creating an event", err);
}

static status open_device(engine *e, error *err) {
    struct cudaDeviceProp properties;
    status rc;
    snprintf(e->name, sizeof e->name, "a GPU");
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "opening the device", err));
    TRY(cuda_check(e, cudaGetDeviceProperties(&properties, e->options.device),
                   "reading its properties", err));
    snprintf(e->name, sizeof e->name, "%.60s, sm_%d%d", properties.name, properties.major,
             properties.minor);
    TRY(cuda_check(e, cuda_kernels_wait(&e->programmatic), "querying kernels", err));
    e->programmatic &= !e->options.serial_launches;
    TRY(cuda_check(e, cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking),
                   "creating a stream", err));
    TRY(cuda_check(e, cudaStreamCreateWithFlags(&e->copies, cudaStreamNonBlocking),
                   "creating a stream", err));
    TRY(cuda_check(e, cudaStreamCreateWithFlags(&e->side, cudaStreamNonBlocking),
                   "creating a stream", err));
    TRY(make_event(e, &e->reached, err));
    TRY(make_event(e, &e->arrived, err));
    for (int i = 0; i < STEPS_AHEAD; i++) TRY(make_event(e, &e->ahead[i].done, err));
    for (int m = 0; m < MARKS; m++)
        TRY(cuda_check(e, cudaEventCreate(&e->marks[m]), "creating an event", err));
out:
    return rc;
}

static status open_parts(engine *e, error *err) {
    const size_t shards = (size_t)e->options.shards;
    status rc;
    TRY(open_device(e, err));
    e->shard_leaves = memory_new(shards + 1, sizeof *e->shard_leaves, err);
    e->shard_groups = memory_new(shards, sizeof *e->shard_groups, err);
    e->counts = memory_new(shards, sizeof *e->counts, err);
    if (!e->shard_leaves || !e->shard_groups || !e->counts) TRY(STATUS_FAILED);
    TRY(cuda_place(e, err));
    TRY(cuda_sequence(e, err));
    TRY(cuda_take_arrays(e, err));
    TRY(cuda_linear_open(e, err));
    TRY(cuda_take_images(e, err)); // after all other allocations
out:
    return rc;
}

static void close_device(engine *e) {
    if (e->copies) (void)cudaStreamSynchronize(e->copies);
    if (e->stream) (void)cudaStreamSynchronize(e->stream);
    if (e->side) (void)cudaStreamSynchronize(e->side); // if a step failed before it joined
    cuda_forget_graphs(e);
    cuda_linear_close(e);
    for (int m = 0; m < MARKS; m++)
        if (e->marks[m]) (void)cudaEventDestroy(e->marks[m]);
    for (int i = 0; i < STEPS_AHEAD; i++)
        if (e->ahead[i].done) (void)cudaEventDestroy(e->ahead[i].done);
    if (e->arrived) (void)cudaEventDestroy(e->arrived);
    if (e->reached) (void)cudaEventDestroy(e->reached);
    if (e->copies) (void)cudaStreamDestroy(e->copies);
    if (e->side) (void)cudaStreamDestroy(e->side);
    if (e->stream) (void)cudaStreamDestroy(e->stream);
    cuda_release_all(e);
}

// Freeing device memory waits for the device's streams. If the engine is stuck, that wait would
// never end, so its resources are left until the process ends, as it does after a rank has died.
// The same holds if a capture could not be ended.
static void cuda_close(engine *e) {
    if (!e) return;
    (void)cudaSetDevice(e->options.device);
    cuda_group_close(e);
    if (!e->stuck) close_device(e);
    free(e->owned);
    free(e->owned_host);
    reduction_tree_release(&e->tree);
    units_release(&e->units);
    free(e->placed);
    free(e->operations);
    free(e->inference);
    free(e->shard_leaves);
    free(e->shard_groups);
    free(e->counts);
    free(e);
}

static status cuda_open(const program *p, const engine_options *o, update_kind kind, engine **out,
                        error *err) {
    *out = NULL;
    status rc = check_options(p, o, err);
    if (rc != STATUS_OK) return rc;
    engine *e = memory_new(1, sizeof *e, err);
    if (!e) return STATUS_FAILED;
    e->program = p;
    e->options = *o;
    e->kind = kind;
    e->sums_by = cuda_arithmetic(o->exact);
    e->lanes = (o->shard_samples + LANE_ROUND - 1) / LANE_ROUND * LANE_ROUND;
    e->groups = (e->lanes + GROUP - 1) / GROUP;
    e->own_end = p->parameters;
    if (o->stage) units_own_part(p, &e->own_first, &e->own_end);
    // The padding after the last tensor is zero and stays so.
    e->own_end = (e->own_end + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    for (int c = 0; !o->receives && c < p->input.channels; c++)
        e->load_scale[c] = engine_input_scale(o, c, &e->load_shift[c]);
    rc = open_parts(e, err);
    if (rc != STATUS_OK) {
        cuda_close(e);
        return rc;
    }
    *out = e;
    return STATUS_OK;
}

// ---- Parameters in and out ----

// Copies on the engine's own stream, which waits for no other.
static status copy(engine *e, void *to, const void *from, size_t floats, error *err) {
    if (!to || !from || floats == 0) return STATUS_OK;
    return cuda_check(
        e, cudaMemcpyAsync(to, from, floats * sizeof(float), cudaMemcpyDefault, e->stream),
        "copying parameters", err);
}

static status write_all(engine *e, const float *parameters, const float *buffers,
                        const float *state, error *err) {
    const size_t n = e->program->parameters;
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_run_waiting(e, err));
    TRY(cuda_group_finish(e, err));
    TRY(copy(e, e->parameters, parameters, n, err));
    TRY(copy(e, e->buffers, buffers, e->program->buffers, err));
    for (int i = 0; i < update_state_arrays(e->kind); i++)
        TRY(copy(e, e->state[i], state ? state + (size_t)i * n : NULL, n, err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

static status cuda_read(engine *e, float *parameters, float *buffers, float *state, error *err) {
    const size_t n = e->program->parameters;
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    TRY(cuda_group_finish(e, err)); // copies to memory that is not pinned wait for the stream
    TRY(copy(e, parameters, e->parameters, n, err));
    TRY(copy(e, buffers, e->buffers, e->program->buffers, err));
    for (int i = 0; i < update_state_arrays(e->kind); i++)
        TRY(copy(e, state ? state + (size_t)i * n : NULL, e->state[i], n, err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

static void cuda_write(engine *e, const float *parameters, const float *buffers,
                       const float *state) {
    if (e->failed == STATUS_OK) e->failed = write_all(e, parameters, buffers, state, &e->failure);
}

// ---- The table ----

static const reduction_tree *cuda_tree(const engine *e) {
    return &e->tree;
}
static const int *cuda_shard_leaves(const engine *e) {
    return e->shard_leaves;
}
static phase_times cuda_times(engine *e) {
    phase_times times;
    memcpy(times.ns, e->ns, sizeof times.ns);
    times.hidden_comm = e->hidden_comm;
    memset(e->ns, 0, sizeof e->ns);
    e->hidden_comm = 0;
    return times;
}
static const char *cuda_isa(const engine *e) {
    return e->name;
}
static int cuda_threads(const engine *e) {
    (void)e;
    return 1;
}
static size_t cuda_memory(const engine *e) {
    return e->allocated;
}
static bool cuda_has_images(const engine *e) {
    return e->images != NULL;
}

const backend cuda_backend = {
    .name = "cuda",
    .keeps_data = true,
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .copy = cuda_copy,
    .connect = cuda_connect,
    .write = cuda_write,
    .read = cuda_read,
    .step = cuda_step,
    .tree = cuda_tree,
    .shard_leaves = cuda_shard_leaves,
    .records = cuda_records,
    .forward = cuda_forward,
    .logits_floats = cuda_logits_floats,
    .gather_logits = cuda_gather_logits,
    .loss = cuda_loss_of_all,
    .backward = cuda_backward,
    .stage_floats = cuda_stage_floats,
    .stage_forward = cuda_stage_forward,
    .stage_backward = cuda_stage_backward,
    .stage_reduce = cuda_stage_reduce,
    .reduced = cuda_reduced,
    .update = cuda_update_step,
    .reduce_engines = cuda_reduce_engines,
    .collect = cuda_collect,
    .group_join = cuda_group_join,
    .group_reduce = cuda_group_reduce,
    .group_result = cuda_group_result,
    .infer = cuda_infer,
    .times = cuda_times,
    .isa = cuda_isa,
    .threads = cuda_threads,
    .memory = cuda_memory,
    .has_images = cuda_has_images,
};
