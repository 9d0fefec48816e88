// SPDX-License-Identifier: MIT
#include "train/replica.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/device_group.h"
#include "train/clipping.h"

struct executor {
    const backend *backend;
    engine *engine;
    comm *comm;
    trace_track *track;
    int shards, local_shards, first_shard;
    size_t gradient_floats; // floats
    int *first_leaf;        // of each rank; world size + 1 entries
    bool reduce_fast;
    comm_way way;                   // transport NULL: the engines do not reduce themselves
    phase_times own;                // measured here, in addition to the engine's times
    uint64_t steps, vectors, bytes; // reductions; vectors contributed and bytes sent by this rank
    uint64_t hidden;                // ns of reduction that overlapped backward
    bool clips;                     // then the reduced gradient buffer is needed on the host
    clipping clipping;
};

// Requests are the last floats of a gradient buffer: a sum above 0 means that some rank makes the
// request.
enum { TAIL_REQUESTS = GRADIENT_TAIL - REQUESTS };
// To read them, the host waits for the step. If it need not wait otherwise (comm_way.buckets),
// requests are read only once in this many steps, the same steps on all ranks.
enum { STEPS_PER_REQUEST = 16 };

// Each rank owns the same number of contiguous shards, so an all-gather puts them in order.
static status exchange(void *context, const void *mine, size_t bytes_per_shard, void *all,
                       error *err) {
    executor *x = context;
    size_t bytes = bytes_per_shard * (size_t)x->local_shards;
    return x->comm->ops->all_gather(x->comm, mine, bytes, all, err);
}

// ---- Engines that reduce among themselves ----

static const char *transport_of(const executor *x) {
    return x->way.transport ? x->way.transport : x->comm->transport;
}

// Could the engines of all ranks join? Those of some may compute on the cpu.
static status ask_all(const executor *x, bool *all_join, error *err) {
    const comm *c = x->comm;
    const char joins = x->backend->comm_join != NULL;
    char *answers = memory_new((size_t)c->size, sizeof *answers);
    status rc = c->ops->all_gather(x->comm, &joins, sizeof joins, answers, err);
    *all_join = rc == STATUS_OK && !memchr(answers, false, (size_t)c->size);
    free(answers);
    return rc;
}

// Ranks whose engines cannot reduce among themselves reduce through the host.
static status join_engines(executor *x, const logger *log, error *err) {
    const comm *c = x->comm;
    const engine_comm ranks = device_group(x->comm);
    error why = {0};
    bool all_join;
    if (c->size == 1 || x->clips) return STATUS_OK;
    NEED(ask_all(x, &all_join, err));
    if (!x->backend->comm_join) return STATUS_OK;
    if (all_join)
        NEED(x->backend->comm_join(x->engine, &ranks, &x->way, &why, err));
    else
        error_set(&why, STATUS_FAILED, "some ranks compute on the cpu");
    log_debug(log, "ranks reduce through %s%s%s", transport_of(x),
              x->way.transport ? "" : ", not on devices: ", x->way.transport ? "" : why.message);
    return STATUS_OK;
}

// ---- Opening and closing ----

status replica_open(const executor_options *o, executor **out, error *err) {
    const experiment *e = o->experiment;
    status rc = STATUS_OK;
    *out = NULL;
    executor *x = memory_new(1, sizeof *x);
    x->backend = o->backend;
    x->comm = o->comm;
    x->track = trace_first(o->trace);
    x->reduce_fast = o->reduce_fast;
    x->shards = e->virtual_shards;
    x->local_shards = e->virtual_shards / o->comm->size;
    x->first_shard = o->comm->rank * x->local_shards;
    x->gradient_floats = gradient_floats(&e->model.program);
    x->clips = e->optimizer.clip_norm > 0;
    clipping_init(&x->clipping, &e->model, e->parameter_groups.of_line);
    x->first_leaf = memory_new((size_t)o->comm->size + 1, sizeof *x->first_leaf);
    engine_options options = strategy_engine_options(o, o->local_rank);
    options.local_shards = x->local_shards;
    options.deferred = true;
    options.exchange = e->sync_batch_norm && o->comm->size > 1 ? exchange : NULL;
    options.exchange_context = x;
    options.trace = o->trace;
    options.track = x->track;
    options.track_name = "thread";
    strategy_give_data(o, &options);
    TRY(o->backend->open(&e->model.program, &options, e->optimizer.kind, &x->engine, err));
    TRY(join_engines(x, o->log, err));
    *out = x;
    return STATUS_OK;
out:
    replica_close(x);
    return rc;
}

status replica_leave(executor *x, error *err) {
    return x->way.transport ? x->backend->comm_leave(x->engine, err) : STATUS_OK;
}

void replica_close(executor *x) {
    if (!x) return;
    x->backend->close(x->engine);
    clipping_release(&x->clipping);
    free(x->first_leaf);
    free(x);
}

void replica_shards(const executor *x, int *first, int *end) {
    *first = x->first_shard;
    *end = x->first_shard + x->local_shards;
}

void replica_write(executor *x, const float *parameters, const float *buffers, const float *state) {
    x->backend->write(x->engine, parameters, buffers, state);
}

status replica_read(executor *x, float *parameters, float *buffers, float *state, error *err) {
    return x->backend->read(x->engine, parameters, buffers, state, err);
}

// ---- A step ----

static void put_requests(const executor *x, float *const *gradients, int count,
                         const bool request[REQUESTS]) {
    for (int k = 0; k < count; k++) {
        float *requests = gradients[k] + x->gradient_floats - GRADIENT_TAIL + TAIL_REQUESTS;
        for (int i = 0; i < REQUESTS; i++) requests[i] = k == 0 && request[i] ? 1.0f : 0.0f;
    }
}

static void find_first_leaves(executor *x) {
    const int *shard_leaves = x->backend->tree(x->engine).shard_leaves;
    for (int r = 0; r <= x->comm->size; r++) x->first_leaf[r] = shard_leaves[r * x->local_shards];
}

static status reduce_exact(executor *x, float *const *gradients, float *out, error *err) {
    find_first_leaves(x);
    const comm_ownership own = {x->backend->tree(x->engine).nodes, x->first_leaf};
    return x->comm->ops->reduce_exact(x->comm, &own, (const float *const *)gradients, out,
                                      x->gradient_floats, err);
}

// The usual way: each rank adds up its gradient buffers, then the ranks' sums are added in rank
// order.
static status reduce_fast(executor *x, float *const *gradients, int count, float *out, error *err) {
    if (count == 0) memset(out, 0, x->gradient_floats * sizeof *out);
    if (count > 0 && out != gradients[0])
        memcpy(out, gradients[0], x->gradient_floats * sizeof *out);
    for (int k = 1; k < count; k++)
        for (size_t i = 0; i < x->gradient_floats; i++) out[i] += gradients[k][i];
    return x->comm->ops->reduce_fast(x->comm, out, x->gradient_floats, err);
}

static void book(executor *x, phase spent, uint64_t begin, uint64_t end) {
    x->own.ns[spent] += end - begin;
    trace_phase(x->track, phase_name(spent), begin, end);
}

// The barrier separates waiting from communication: the time spent here is waiting for the slowest
// rank; afterwards all ranks have their gradients, and the reduction's time is communication.
static status wait_for_all(executor *x, error *err) {
    const uint64_t begin = clock_now();
    status rc = x->comm->ops->barrier(x->comm, err);
    if (rc == STATUS_OK) book(x, PHASE_WAIT, begin, clock_now());
    return rc;
}

static void read_requests(const float *sums, bool agreed[REQUESTS]) {
    for (int i = 0; i < REQUESTS; i++) agreed[i] = sums[i] > 0;
}

static status reduce_here(executor *x, const bool request[REQUESTS], bool agreed[REQUESTS],
                          error *err) {
    int count;
    float *const *gradients = x->backend->gradients(x->engine, &count);
    float *out = x->backend->reduced(x->engine);
    put_requests(x, gradients, count, request);
    status rc = wait_for_all(x, err);
    if (rc != STATUS_OK) return rc;
    const uint64_t begin = clock_now(), sent = x->comm->bytes_sent;
    rc = x->reduce_fast ? reduce_fast(x, gradients, count, out, err)
                        : reduce_exact(x, gradients, out, err);
    book(x, PHASE_COMM, begin, clock_now());
    read_requests(out + x->gradient_floats - GRADIENT_TAIL + TAIL_REQUESTS, agreed);
    x->vectors += (uint64_t)count;
    x->bytes += x->comm->bytes_sent - sent;
    return rc;
}

static bool reads_requests(const executor *x) {
    return x->way.buckets == 0 || x->steps % STEPS_PER_REQUEST == 0;
}

// The time of a reduction in buckets is booked with the update: the engine measures the part that
// backward did not hide.
static status reduce_on_devices(executor *x, const bool request[REQUESTS], error *err) {
    float requests[REQUESTS];
    comm_traffic traffic = {0};
    const bool behind = x->way.buckets == 0;
    for (int i = 0; i < REQUESTS; i++) requests[i] = request[i] && reads_requests(x) ? 1.0f : 0.0f;
    if (behind) NEED(wait_for_all(x, err));
    const uint64_t begin = clock_now();
    find_first_leaves(x);
    NEED(x->backend->comm_reduce(x->engine, x->first_leaf, !x->reduce_fast, requests, REQUESTS,
                                 &traffic, err));
    if (behind) book(x, PHASE_COMM, begin, clock_now());
    x->vectors += (uint64_t)traffic.vectors;
    x->bytes += traffic.bytes_sent;
    return STATUS_OK;
}

static status collect_requests(executor *x, bool agreed[REQUESTS], error *err) {
    float requests[REQUESTS] = {0};
    if (reads_requests(x)) NEED(x->backend->comm_result(x->engine, requests, REQUESTS, err));
    read_requests(requests, agreed);
    return STATUS_OK;
}

// The gradient buffer of an engine that has all shards becomes the reduced one.
static void clip(executor *x, const batch *b, update_rule *rule) {
    int count;
    const uint64_t begin = clock_now();
    float *out = x->backend->reduced(x->engine);
    if (x->comm->size == 1) {
        float *const *gradients = x->backend->gradients(x->engine, &count);
        if (out != gradients[0]) memcpy(out, gradients[0], x->gradient_floats * sizeof *out);
    }
    clipping_apply(&x->clipping, out, b, rule);
    book(x, PHASE_UPDATE, begin, clock_now());
}

status replica_step(executor *x, const batch *b, const update_rule *rule,
                    const bool request[REQUESTS], step_result *result, error *err) {
    update_rule own = *rule;
    NEED(x->backend->run(x->engine, b, NULL, err));
    if (x->way.transport)
        NEED(reduce_on_devices(x, request, err));
    else if (x->comm->size > 1)
        NEED(reduce_here(x, request, result->agreed, err));
    else
        memcpy(result->agreed, request, sizeof result->agreed);
    if (x->clips) clip(x, b, &own);
    NEED(x->backend->update(x->engine, &own, &result->update, err));
    if (x->way.transport) NEED(collect_requests(x, result->agreed, err));
    x->steps++;
    return STATUS_OK;
}

status replica_collect(executor *x, update_result *results, int count, error *err) {
    return x->backend->collect(x->engine, results, count, err);
}

status replica_infer(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                     error *err) {
    return x->backend->infer(x->engine, pixels, samples, logits, err);
}

phase_times replica_times(executor *x) {
    phase_times times = x->backend->times(x->engine);
    x->hidden += times.hidden_comm;
    for (int p = 0; p < PHASES; p++) times.ns[p] += x->own.ns[p];
    x->own = (phase_times){0};
    return times;
}

engine_description replica_engines(const executor *x) {
    return x->backend->describe(x->engine);
}

// A rank whose shards are not aligned with the tree contributes several vectors to each reduction.
void replica_describe(const executor *x, yaml_node *segment) {
    if (x->comm->size == 1 || x->steps == 0) return;
    const double vectors = (double)x->vectors / (double)x->steps;
    const int64_t bytes = (int64_t)(x->bytes / x->steps);
    yaml_put(segment, "transport", yaml_new_string(transport_of(x)));
    yaml_put(segment, "bytes_sent_per_step", yaml_new_integer(bytes));
    yaml_put(segment, "vectors_per_reduction", yaml_new_number(vectors));
    if (x->way.buckets == 0) return;
    const double hidden = 1e-9 * (double)x->hidden / (double)x->steps;
    yaml_put(segment, "buckets", yaml_new_integer(x->way.buckets));
    yaml_put(segment, "hidden_comm_per_step", yaml_new_number(hidden));
}
