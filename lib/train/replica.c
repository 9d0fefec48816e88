#include "train/replica.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/device_group.h"

struct worker {
    const backend *backend;
    engine *engine;
    comm *comm;
    trace_track *track;
    int shards, local_shards, first_shard;
    size_t record;   // floats
    int *first_leaf; // of each rank; size + 1 of them
    bool reduce_fast;
    bool on_devices;                // do the engines reduce among themselves?
    const char *transport;          // what gradients are reduced by
    phase_times own;                // what is measured here, beside the engine's times
    uint64_t steps, vectors, bytes; // of reductions: how many, what this rank brought, what it sent
};

// Wishes ride in the last floats of a record: a sum above 0 means that somebody wishes.
enum { RECORD_WISHES = RECORD_TAIL - WISHES };

update_kind strategy_update_kind(const optimizer *o) {
    switch (o->kind) {
    case OPTIMIZER_ADAM: return UPDATE_ADAM;
    case OPTIMIZER_ADAMW: return UPDATE_ADAMW;
    default: return UPDATE_SGD;
    }
}

void strategy_give_data(const worker_options *o, engine_options *e) {
    if (!o->data) return;
    e->images = o->data->pixels;
    e->image_count = o->data->samples;
    e->augment = &o->experiment->augment;
}

// Ranks own contiguous shards, the same number each, so an all-gather puts them in order.
static status exchange(void *context, const void *mine, size_t bytes_per_shard, void *all,
                       error *err) {
    worker *w = context;
    size_t bytes = bytes_per_shard * (size_t)w->local_shards;
    return w->comm->ops->all_gather(w->comm, mine, bytes, all, err);
}

// ---- Engines that reduce among themselves ----

// Through the host where the engines cannot.
static status join_group(worker *w, const logger *log, error *err) {
    const comm *c = w->comm;
    const engine_group g = device_group(w->comm);
    error why = {0};
    status rc = STATUS_OK;
    w->transport = c->ops->name;
    if (c->size == 1 || !w->backend->group_join) return rc;
    const char *transport;
    TRY(w->backend->group_join(w->engine, &g, &transport, &why, err));
    w->on_devices = transport;
    if (w->on_devices) w->transport = transport;
    log_debug(log, "ranks reduce by %s%s%s", w->transport,
              w->on_devices ? "" : ", not on devices: ", w->on_devices ? "" : why.message);
out:
    return rc;
}

// ---- Life ----

status replica_open(const worker_options *o, worker **out, error *err) {
    const experiment *e = o->experiment;
    status rc = STATUS_FAILED;
    *out = NULL;
    worker *w = memory_new(1, sizeof *w, err);
    if (!w) return rc;
    w->backend = o->backend;
    w->comm = o->comm;
    w->track = trace_first(o->trace);
    w->reduce_fast = o->reduce_fast;
    w->shards = e->virtual_shards;
    w->local_shards = e->virtual_shards / o->comm->size;
    w->first_shard = o->comm->rank * w->local_shards;
    w->record = record_floats(&e->model.program);
    w->first_leaf = memory_new((size_t)o->comm->size + 1, sizeof *w->first_leaf, err);
    if (!w->first_leaf) goto out;
    engine_options options = {
        .threads = o->threads,
        .spin = o->spin,
        .isa = o->isa,
        .device = devices_index(o->devices, o->comm->rank),
        .shards = w->shards,
        .local_shards = w->local_shards,
        .shard_samples = e->global_batch / e->virtual_shards,
        .seed = e->seed,
        .sync_batch_norm = e->sync_batch_norm,
        .deferred = o->comm->size == 1, // with others a step ends in a reduction, which waits
        .exchange = e->sync_batch_norm && o->comm->size > 1 ? exchange : NULL,
        .exchange_context = w,
        .trace = o->trace,
        .track = w->track,
        .track_name = "thread",
    };
    memcpy(options.mean, o->normalization.mean, sizeof options.mean);
    memcpy(options.std, o->normalization.std, sizeof options.std);
    strategy_give_data(o, &options);
    TRY(o->backend->open(&e->model.program, &options, strategy_update_kind(&e->optimizer),
                         &w->engine, err));
    TRY(join_group(w, o->log, err));
    *out = w;
    return STATUS_OK;
out:
    replica_close(w);
    return rc;
}

void replica_close(worker *w) {
    if (!w) return;
    w->backend->close(w->engine);
    free(w->first_leaf);
    free(w);
}

void replica_shards(const worker *w, int *first, int *end) {
    *first = w->first_shard;
    *end = w->first_shard + w->local_shards;
}

void replica_write(worker *w, const float *parameters, const float *buffers, const float *state) {
    w->backend->write(w->engine, parameters, buffers, state);
}

status replica_read(worker *w, float *parameters, float *buffers, float *state, error *err) {
    return w->backend->read(w->engine, parameters, buffers, state, err);
}

// ---- A step ----

static void put_wishes(const worker *w, float *const *records, int count, const bool wish[WISHES]) {
    for (int k = 0; k < count; k++) {
        float *tail = records[k] + w->record - RECORD_TAIL + RECORD_WISHES;
        for (int i = 0; i < WISHES; i++) tail[i] = k == 0 && wish[i] ? 1.0f : 0.0f;
    }
}

static void find_first_leaves(worker *w) {
    const int *shard_leaves = w->backend->shard_leaves(w->engine);
    for (int r = 0; r <= w->comm->size; r++) w->first_leaf[r] = shard_leaves[r * w->local_shards];
}

static status reduce_exact(worker *w, float *const *records, float *out, error *err) {
    find_first_leaves(w);
    const comm_ownership own = {w->backend->tree(w->engine), w->first_leaf};
    return w->comm->ops->reduce_exact(w->comm, &own, (const float *const *)records, out, w->record,
                                      err);
}

// The usual way: each rank adds up what it has, the ranks' sums are added in rank order.
static status reduce_fast(worker *w, float *const *records, int count, float *out, error *err) {
    if (count == 0) memset(out, 0, w->record * sizeof *out);
    if (count > 0 && out != records[0]) memcpy(out, records[0], w->record * sizeof *out);
    for (int k = 1; k < count; k++)
        for (size_t i = 0; i < w->record; i++) out[i] += records[k][i];
    return w->comm->ops->reduce_fast(w->comm, out, w->record, err);
}

static void book(worker *w, phase spent, uint64_t begin, uint64_t end) {
    w->own.ns[spent] += end - begin;
    trace_phase(w->track, phase_name(spent), begin, end);
}

// It splits the time: behind it all ranks have their gradients, so what the reduction takes is
// communication, and what was spent here is waiting for the slowest.
static status meet(worker *w, error *err) {
    const uint64_t begin = clock_now();
    status rc = w->comm->ops->barrier(w->comm, err);
    if (rc == STATUS_OK) book(w, PHASE_WAIT, begin, clock_now());
    return rc;
}

static void read_wishes(const float *sums, bool agreed[WISHES]) {
    for (int i = 0; i < WISHES; i++) agreed[i] = sums[i] > 0;
}

static status reduce_here(worker *w, const bool wish[WISHES], bool agreed[WISHES], error *err) {
    int count;
    float *const *records = w->backend->records(w->engine, &count);
    float *out = w->backend->reduced(w->engine);
    put_wishes(w, records, count, wish);
    status rc = meet(w, err);
    if (rc != STATUS_OK) return rc;
    const uint64_t begin = clock_now(), sent = w->comm->bytes_sent;
    rc = w->reduce_fast ? reduce_fast(w, records, count, out, err)
                        : reduce_exact(w, records, out, err);
    book(w, PHASE_COMM, begin, clock_now());
    read_wishes(out + w->record - RECORD_TAIL + RECORD_WISHES, agreed);
    w->vectors += (uint64_t)count;
    w->bytes += w->comm->bytes_sent - sent;
    return rc;
}

static status reduce_on_devices(worker *w, const bool wish[WISHES], bool agreed[WISHES],
                                error *err) {
    float wishes[WISHES];
    group_traffic traffic = {0};
    for (int i = 0; i < WISHES; i++) wishes[i] = wish[i] ? 1.0f : 0.0f;
    status rc = meet(w, err);
    if (rc != STATUS_OK) return rc;
    const uint64_t begin = clock_now();
    find_first_leaves(w);
    rc = w->backend->group_reduce(w->engine, w->first_leaf, !w->reduce_fast, wishes, WISHES,
                                  &traffic, err);
    book(w, PHASE_COMM, begin, clock_now());
    read_wishes(wishes, agreed);
    w->vectors += (uint64_t)traffic.vectors;
    w->bytes += traffic.bytes_sent;
    return rc;
}

status replica_step(worker *w, const batch *b, const update_rule *rule, const bool wish[WISHES],
                    step_result *result, error *err) {
    status rc;
    TRY(w->backend->step(w->engine, b, err));
    if (w->comm->size == 1) // the record of all shards is the reduced one already
        memcpy(result->agreed, wish, sizeof result->agreed);
    else
        TRY((w->on_devices ? reduce_on_devices : reduce_here)(w, wish, result->agreed, err));
    w->steps++;
    TRY(w->backend->update(w->engine, rule, &result->update, err));
out:
    return rc;
}

status replica_collect(worker *w, update_result *results, int count, error *err) {
    return w->backend->collect(w->engine, results, count, err);
}

status replica_infer(worker *w, const uint8_t *const *pixels, size_t samples, float *logits,
                     error *err) {
    return w->backend->infer(w->engine, pixels, samples, logits, err);
}

phase_times replica_times(worker *w) {
    phase_times times = w->backend->times(w->engine);
    for (int p = 0; p < PHASES; p++) times.ns[p] += w->own.ns[p];
    w->own = (phase_times){0};
    return times;
}

const char *replica_isa(const worker *w) {
    return w->backend->isa(w->engine);
}

size_t replica_memory(const worker *w) {
    return w->backend->memory(w->engine);
}

bool replica_has_images(const worker *w) {
    return w->backend->has_images(w->engine);
}

// A rank whose shards are not aligned with the tree brings more than one vector to each reduction.
status replica_describe(const worker *w, yaml_node *segment, error *err) {
    if (w->comm->size == 1 || w->steps == 0) return STATUS_OK;
    status rc;
    const double vectors = (double)w->vectors / (double)w->steps;
    const int64_t bytes = (int64_t)(w->bytes / w->steps);
    TRY(yaml_put(segment, "transport", yaml_new_string(w->transport, err), err));
    TRY(yaml_put(segment, "bytes_sent_per_step", yaml_new_integer(bytes, err), err));
    TRY(yaml_put(segment, "vectors_per_reduction", yaml_new_number(vectors, err), err));
out:
    return rc;
}
