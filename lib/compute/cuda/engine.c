// SPDX-License-Identifier: MIT
// The lifetime of a CUDA engine, and parameters in and out. The backend's table is at the end.
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cuda/comm/cuda_comm.h"
#include "compute/cuda/run/cuda_engine.h"

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

static status open_parts(engine *e, error *err) {
    cuda_device *d = &e->device;
    cuda_plan *p = &e->plan;
    const engine_options *o = &p->options;
    size_t cover_most;
    NEED(cuda_device_open(d, o->device, o->serial_launches, err));
    NEED(cuda_clock_open(&e->clock, d, err));
    NEED(cuda_shards_open(&e->shards, o->shards, o->local_shards, &cover_most, err));
    NEED(cuda_plan_steps(p, err));
    NEED(cuda_place(p, d, err));
    NEED(cuda_take_norms(&e->norm, p, d, err));
    NEED(cuda_take_inputs(&e->input, p, d, err));
    NEED(cuda_take_model(&e->model, p, d, err));
    NEED(cuda_take_gradients(&e->gradients, cover_most, p, d, err));
    NEED(cuda_take_results(&e->results, p, d, err));
    NEED(cuda_take_exchange(&e->exchange, p, d, err));
    NEED(cuda_make_tasks(p, &e->model, &e->norm, &e->gradients, &e->results, d, err));
    if (p->uses_blas) NEED(cuda_linear_open(d, err));
    return cuda_take_data_set(&e->input, p, d, err);
}

static void close_parts(engine *e) {
    cuda_device_finish(&e->device);
    cuda_forget_graphs(e);
    cuda_clock_close(&e->clock);
    cuda_close_inputs(&e->input);
}

// Freeing device memory waits for the device's streams. If the device is stuck, that wait would
// never end, or would free memory that other ranks use. So its resources are left until the process
// ends, as it does after a failure. The same holds if a capture could not be ended.
static void cuda_close(engine *e) {
    if (!e) return;
    (void)cudaSetDevice(e->device.index);
    cuda_comm_close(e);
    if (!e->device.stuck) close_parts(e);
    cuda_device_close(&e->device);
    cuda_plan_close(&e->plan);
    cuda_shards_close(&e->shards);
    free(e);
}

static status cuda_open(const program *p, const engine_options *o, optimizer_kind kind,
                        engine **out, error *err) {
    *out = NULL;
    status rc = check_options(p, o, err);
    if (rc != STATUS_OK) return rc;
    engine *e = memory_new(1, sizeof *e);
    cuda_plan_begin(&e->plan, p, o, kind);
    rc = open_parts(e, err);
    if (rc != STATUS_OK) {
        cuda_close(e);
        return rc;
    }
    *out = e;
    return STATUS_OK;
}

// ---- Parameters in and out ----

// Copies on the main stream, which waits for no other.
static status copy(const cuda_device *d, void *to, const void *from, size_t floats, error *err) {
    if (!to || !from || floats == 0) return STATUS_OK;
    return cuda_enqueue_copy(d, to, from, floats * sizeof(float), cudaMemcpyDefault,
                             "copying parameters", err);
}

static status write_all(engine *e, const float *parameters, const float *buffers,
                        const float *state, error *err) {
    const cuda_device *d = &e->device;
    const model_arrays *m = &e->model;
    const size_t n = e->plan.program->parameters;
    NEED(cuda_select(d, err));
    NEED(cuda_run_waiting(e, err));
    NEED(cuda_finish_reductions(&e->place, err));
    NEED(copy(d, m->parameters, parameters, n, err));
    NEED(copy(d, m->buffers, buffers, e->plan.program->buffers, err));
    for (int i = 0; i < optimizer_states(e->plan.kind); i++)
        NEED(copy(d, m->state[i], state ? state + (size_t)i * n : NULL, n, err));
    return cuda_sync(e, err);
}

// Copies to memory that is not pinned wait for the stream.
static status cuda_read(engine *e, float *parameters, float *buffers, float *state, error *err) {
    cuda_device *d = &e->device;
    const model_arrays *m = &e->model;
    const size_t n = e->plan.program->parameters;
    NEED(cuda_begin(d, err));
    NEED(cuda_finish_reductions(&e->place, err));
    NEED(copy(d, parameters, m->parameters, n, err));
    NEED(copy(d, buffers, m->buffers, e->plan.program->buffers, err));
    for (int i = 0; i < optimizer_states(e->plan.kind); i++)
        NEED(copy(d, state ? state + (size_t)i * n : NULL, m->state[i], n, err));
    return cuda_sync(e, err);
}

static void cuda_write(engine *e, const float *parameters, const float *buffers,
                       const float *state) {
    cuda_device *d = &e->device;
    if (d->failed == STATUS_OK) d->failed = write_all(e, parameters, buffers, state, &d->failure);
}

// ---- The table ----

static engine_tree cuda_tree(const engine *e) {
    return (engine_tree){&e->shards.tree, e->shards.leaves};
}
static phase_times cuda_times(engine *e) {
    const phase_times times = e->clock.times;
    e->clock.times = (phase_times){.hidden_comm = 0};
    return times;
}
static engine_description cuda_describe(const engine *e) {
    return (engine_description){.isa = e->device.name,
                                .memory = e->device.allocated,
                                .has_images = e->input.data_set || !e->plan.options.images,
                                .launches_early = e->device.after_kernel != NULL};
}

const backend cuda_backend = {
    .name = "cuda",
    .keeps_data = true,
    .units = cuda_units,
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .copy = cuda_copy,
    .connect = cuda_connect,
    .write = cuda_write,
    .read = cuda_read,
    .run = cuda_run,
    .tree = cuda_tree,
    .gradients = cuda_gradients,
    .loss = cuda_loss_of_all,
    .reduce = cuda_reduce_engines,
    .reduced = cuda_reduced,
    .update = cuda_update_step,
    .collect = cuda_collect,
    .comm_join = cuda_comm_join,
    .comm_reduce = cuda_comm_reduce,
    .comm_result = cuda_comm_result,
    .comm_leave = cuda_comm_leave,
    .infer = cuda_infer,
    .times = cuda_times,
    .describe = cuda_describe,
};
