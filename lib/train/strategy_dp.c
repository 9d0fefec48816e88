// SPDX-License-Identifier: MIT
// strategy_dp.c - DataParallel: one process, a master and its replicas.
//
// Every step has the phases of torch.nn.DataParallel:
//
//     broadcast          the master's parameters and buffers to the replicas
//     scatter            the samples of the batch: each replica copies those of its shards
//     forward            on all replicas at once
//     gather             the logits, to the master
//     loss               at the master, with the gradient of the logits; the replicas wait
//     scatter_gradient   by the master: it is small; the replicas wait
//     backward           on all replicas at once
//     reduce             the gradients, to the master, along the tree; the replicas wait
//     update             at the master; the replicas wait
//
// A phase begins only after the previous one has ended on all replicas, so their times add up to
// the step (`seconds_per_step` in the manifest).
//
// On a CPU a replica is one or more threads with a separate engine and memory: nothing is shared
// that several GPUs would not share. Transfers between GPUs are direct; only samples and
// sync_batch_norm's exchange go through the host. The result has the same bits as every other
// strategy's.
#include "train/strategy_dp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static status find_world(const experiment *e, int wanted, int listed, world *w, error *err) {
    *w = (world){.size = strategy_world_size(e, wanted, listed)};
    NEED(strategy_check_devices(wanted, listed, err));
    if (e->virtual_shards % w->size == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot divide the shards: '%d' replicas do not divide the %d virtual shards "
                     "of experiment '%s'",
                     w->size, e->virtual_shards, e->name);
}

// ---- Opening and closing ----

static void close_executor(executor *x) {
    if (!x) return;
    team_free(x->team);
    for (int r = 0; x->engines && r < x->replicas; r++) x->backend->close(x->engines[r]);
    for (int r = 0; x->parts && r < x->replicas; r++) {
        part *p = &x->parts[r];
        free(p->pixels);
        free(p->images);
        free(p->targets);
        free(p->ids);
        free(p->rows);
    }
    clipping_release(&x->clipping);
    void *own[] = {x->parts, x->engines, x->copies, x->sync};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    free(x);
}

#define NEW(pointer, count)                                                  \
    do {                                                                     \
        (pointer) = memory_try_new_aligned((count), sizeof *(pointer), err); \
        if (!(pointer)) return STATUS_FAILED;                                \
    } while (0)

// Allocates in the engine's device memory; freed with the engine.
#define ALLOCATE(pointer, engine, count)                          \
    do {                                                          \
        (pointer) = x->backend->allocate((engine), (count), err); \
        if (!(pointer)) return STATUS_FAILED;                     \
    } while (0)

static void open_track(part *p, const executor_options *o) {
    p->track = trace_first(o->trace);
    if (p->number == 0) return;
    trace_track_new(o->trace, &p->track, "replica %d", p->number);
}

static status open_part(executor *x, int number, const executor_options *o, error *err) {
    char threads[TRACE_NAME_BYTES];
    part *p = &x->parts[number];
    const experiment *e = o->experiment;
    const size_t shard_samples = (size_t)(e->global_batch / e->virtual_shards);
    const size_t samples = shard_samples * (size_t)x->local_shards;
    const size_t groups = (shard_samples + GROUP - 1) / GROUP * (size_t)x->local_shards;
    *p = (part){.owner = x, .number = number};
    NEW(p->pixels, x->kept ? 0 : samples * x->sample_bytes);
    NEW(p->images, samples);
    NEW(p->targets, samples);
    NEW(p->ids, samples);
    NEW(p->rows, samples);
    open_track(p, o);
    snprintf(threads, sizeof threads, "replica %d thread", number);
    engine_options options = strategy_engine_options(o, number);
    options.local_shards = x->local_shards;
    options.exchange = x->replicas > 1 ? dp_exchange : NULL;
    options.exchange_context = p;
    options.sends = true;
    options.trace = o->trace;
    options.track = p->track;
    options.track_name = threads;
    strategy_give_data(o, &options);
    const status rc =
        o->backend->open(x->program, &options, e->optimizer.kind, &x->engines[number], err);
    if (rc != STATUS_OK) return rc;
    ALLOCATE(p->logits, x->engines[number], groups * dp_block(x));
    ALLOCATE(p->losses, x->engines[number], groups);
    return STATUS_OK;
}

static size_t widest_layer(const program *p) {
    int channels = 0;
    for (int i = 0; i < p->count; i++)
        if (p->layers[i].out.channels > channels) channels = p->layers[i].out.channels;
    return (size_t)channels;
}

static status open_master(executor *x, const executor_options *o, error *err) {
    const size_t shards = (size_t)x->shards;
    const size_t groups =
        ((size_t)(o->experiment->global_batch / x->shards) + GROUP - 1) / GROUP * shards;
    engine *master = x->engines[0];
    ALLOCATE(x->parameters, master, x->program->parameters);
    ALLOCATE(x->buffers, master, x->program->buffers);
    ALLOCATE(x->logits, master, groups * dp_block(x));
    ALLOCATE(x->losses, master, groups);
    if (x->backend->connect) x->transport = x->backend->connect(x->engines, x->replicas);
    return STATUS_OK;
}

static status take_memory(executor *x, error *err) {
    NEW(x->parts, (size_t)x->replicas);
    NEW(x->engines, (size_t)x->replicas);
    NEW(x->copies, 2 * (size_t)x->replicas);
    NEW(x->sync, (size_t)x->shards * widest_layer(x->program) * 2 * sizeof(double));
    return STATUS_OK;
}

static status open_executor(const executor_options *o, executor **out, error *err) {
    status rc = STATUS_OK;
    *out = NULL;
    executor *x = memory_new(1, sizeof *x);
    x->backend = o->backend;
    x->program = &o->experiment->model.program;
    x->replicas = o->world_size;
    x->shards = o->experiment->virtual_shards;
    x->local_shards = x->shards / x->replicas;
    x->sample_bytes = shape_size(x->program->input);
    x->kept = o->data != NULL;
    x->gradient_floats = gradient_floats(x->program);
    x->reduce_fast = o->reduce_fast;
    x->clips = o->experiment->optimizer.clip_norm > 0;
    clipping_init(&x->clipping, &o->experiment->model, o->experiment->parameter_groups.of_line);
    TRY(take_memory(x, err));
    for (int r = 0; r < x->replicas; r++) TRY(open_part(x, r, o, err));
    TRY(open_master(x, o, err));
    TRY(team_new(x->replicas, o->spin, &x->team, err));
    for (int r = 0; r < x->replicas; r++)
        log_debug(o->log, "replica %d: shards %d to %d, batch [%d, %d, %d, %d], %.1f MiB", r,
                  r * x->local_shards, (r + 1) * x->local_shards - 1,
                  o->experiment->global_batch / x->replicas, x->program->input.channels,
                  x->program->input.height, x->program->input.width,
                  (double)o->backend->describe(x->engines[r]).memory / (1 << 20));
    *out = x;
    return STATUS_OK;
out:
    close_executor(x);
    return rc;
}

// ---- Other hooks ----

static void shards(const executor *x, int *first, int *end) {
    *first = 0;
    *end = x->shards;
}

static void write_arenas(executor *x, const float *parameters, const float *buffers,
                         const float *state) {
    x->backend->write(x->engines[0], parameters, buffers, state);
}

static status read_arenas(executor *x, float *parameters, float *buffers, float *state,
                          error *err) {
    return x->backend->read(x->engines[0], parameters, buffers, state, err);
}

static status infer(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    return x->backend->infer(x->engines[0], pixels, samples, logits, err);
}

static engine_description engines(const executor *x) {
    return strategy_describe(x->backend, x->engines, x->replicas);
}

const strategy strategy_dp = {
    .name = "dp",
    .reduces = true,
    .track = "replica 0",
    .find_world = find_world,
    .launch = strategy_launch_one,
    .open = open_executor,
    .close = close_executor,
    .shards = shards,
    .write = write_arenas,
    .read = read_arenas,
    .step = dp_step,
    .infer = infer,
    .times = dp_times,
    .engines = engines,
    .describe = dp_describe,
};
