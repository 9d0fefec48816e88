// strategy_dp.c - DataParallel: one process, a master and its replicas.
//
// Every step goes through what torch.nn.DataParallel does, phase by phase:
//
//     broadcast          the master's parameters and buffers to the replicas
//     scatter            the samples of the batch: each replica copies its shards'
//     forward            on all replicas at once
//     gather             the logits, to the master
//     loss               at the master, and the gradient of the logits; the replicas wait
//     scatter_gradient   by the master: it is small; the replicas wait
//     backward           on all replicas at once
//     reduce             the gradients, to the master, along the tree; the replicas wait
//     update             at the master; the replicas wait
//
// None begins before the one in front of it has ended everywhere, so their times add up to the step
// (`seconds_per_step` in the manifest).
//
// On a CPU a replica is a thread (or several) with an engine and a memory of its own: nothing is
// shared that several GPUs would not share. What crosses between GPUs goes from one to the other;
// only samples come from the host, and sync_batch_norm meets there. The result has the bits of
// every other strategy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/team.h"
#include "train/strategy.h"

// What a step does, one after the other.
typedef enum activity {
    BROADCAST,
    SCATTER,
    FORWARD,
    GATHER,
    LOSS,
    SCATTER_GRADIENT,
    BACKWARD,
    REDUCE,
    UPDATE,
    ACTIVITIES
} activity;

static const struct {
    const char *name;
    bool crosses; // between the master and the other replicas
} activities[ACTIVITIES] = {
    [BROADCAST] = {"broadcast", true}, [SCATTER] = {"scatter", true},
    [FORWARD] = {"forward", false},    [GATHER] = {"gather", true},
    [LOSS] = {"loss", false},          [SCATTER_GRADIENT] = {"scatter_gradient", true},
    [BACKWARD] = {"backward", false},  [REDUCE] = {"reduce", true},
    [UPDATE] = {"update", false},
};

typedef struct part { // one replica
    worker *owner;
    int number;
    engine *engine;
    trace_track *track;
    batch batch;
    uint8_t *pixels; // its own copy of its samples; none where its engine has the data set
    const uint8_t **images;
    uint8_t *labels;
    uint32_t *ids, *rows;
    float *gradients, *losses; // of its logits, where its engine computes
    phase_times spent;         // in the current region
    uint64_t busy, waiting;    // ns so far; the rest is copying and reducing
    status rc;
    error err;
} part;

struct worker {
    const backend *backend;
    const program *program;
    part *parts;
    engine **engines;      // theirs
    const char *transport; // how what crosses travels; NULL: that is no question
    int replicas, shards, local_shards;
    size_t sample_bytes, record;
    bool kept; // the engines have the data set
    bool reduce_fast;
    team *team;    // one member a replica
    activity what; // of all replicas at once: what, and how
    void (*body)(void *, int);
    uint64_t began; // clock at the beginning of the step
    const batch *batch;
    // Where the master computes: its parameters and buffers, on their way to the replicas; logits
    // and losses of all groups.
    float *parameters, *buffers, *logits, *losses;
    engine_copy *copies; // of gradients and losses, to each replica
    int *cover;
    const float **terms;
    char *sync; // sync_batch_norm: the rows of all shards
    phase_times own;
    uint64_t steps, ns[ACTIVITIES], bytes[ACTIVITIES];
};

static status find_world(const experiment *e, int wanted, int listed, world *w, error *err) {
    *w = (world){.size = strategy_world_size(e, wanted, listed)};
    status rc = strategy_check_devices(wanted, listed, err);
    if (rc != STATUS_OK) return rc;
    if (e->virtual_shards % w->size == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot divide the shards: '%d' replicas do not divide the %d virtual shards "
                     "of experiment '%s'",
                     w->size, e->virtual_shards, e->name);
}

// ---- Time ----

// Adds time of a replica to the seven phases, and to what it was busy with.
static void book(worker *w, part *p, const phase_times *spent) {
    for (int k = 0; k < PHASES; k++) w->own.ns[k] += spent->ns[k];
    p->busy += strategy_busy(spent);
    p->waiting += spent->ns[PHASE_WAIT];
}

// A trace shows what a replica did as an operation, and in it phases: those that its engine
// records, and copying. From one to the next it waits.
static void traced_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const worker *w = p->owner;
    const uint64_t begin = trace_clock(p->track);
    trace_rest(p->track, phase_name(PHASE_WAIT), w->began, begin);
    w->body(parts, member);
    const uint64_t end = trace_clock(p->track);
    if (activities[w->what].crosses) trace_rest(p->track, phase_name(PHASE_COPY), begin, end);
    trace_operation(p->track, activities[w->what].name, TRACE_UNNUMBERED, begin, end);
}

// Runs `body` on all replicas at once. A replica's time is what it booked to `spent`; the rest of
// the region is waiting.
static status all(worker *w, activity what, void (*body)(void *, int), error *err) {
    const uint64_t begin = clock_now();
    for (int r = 0; r < w->replicas; r++) w->parts[r].spent = (phase_times){0};
    w->what = what;
    w->body = body;
    team_run(w->team, traced_body, w->parts);
    const uint64_t wall = clock_now() - begin;
    w->ns[what] += wall;
    for (int r = 0; r < w->replicas; r++) {
        part *p = &w->parts[r];
        uint64_t sum = 0;
        for (int k = 0; k < PHASES; k++) sum += p->spent.ns[k];
        p->spent.ns[PHASE_WAIT] += wall > sum ? wall - sum : 0;
        book(w, p, &p->spent);
        if (p->rc == STATUS_OK) continue;
        *err = p->err;
        return error_prefix(err, "replica %d: ", r);
    }
    return STATUS_OK;
}

// The master worked since `begin`, and the others waited.
static void alone(worker *w, activity what, phase spent, uint64_t begin) {
    const uint64_t end = clock_now(), ns = end - begin;
    trace_track *track = w->parts[0].track;
    trace_rest(track, phase_name(PHASE_WAIT), w->began, begin);
    trace_rest(track, phase_name(spent), begin, end);
    trace_operation(track, activities[what].name, TRACE_UNNUMBERED, begin, end);
    w->ns[what] += ns;
    for (int r = 0; r < w->replicas; r++) {
        phase_times times = {0};
        times.ns[r == 0 ? spent : PHASE_WAIT] = ns;
        book(w, &w->parts[r], &times);
    }
}

static phase_times times(worker *w) {
    phase_times mean = w->own;
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= (uint64_t)w->replicas;
    w->own = (phase_times){0};
    (void)w->backend->times(w->parts[0].engine);
    return mean;
}

// ---- What replicas do, each in its own thread ----

static size_t samples_before(const batch *b, int shard) {
    size_t n = 0;
    for (int v = 0; v < shard; v++) n += (size_t)b->count[v];
    return n;
}

static size_t groups_before(const batch *b, int shard) {
    size_t n = 0;
    for (int v = 0; v < shard; v++) n += (size_t)((b->count[v] + GROUP - 1) / GROUP);
    return n;
}

static void broadcast_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const worker *w = p->owner;
    const uint64_t begin = clock_now();
    if (p->number > 0) w->backend->write(p->engine, w->parameters, w->buffers, NULL);
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void scatter_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const worker *w = p->owner;
    const batch *b = w->batch;
    const uint64_t begin = clock_now();
    p->batch = *b;
    p->batch.first_shard = p->number * w->local_shards;
    p->batch.end_shard = p->batch.first_shard + w->local_shards;
    const size_t first = samples_before(b, p->batch.first_shard);
    const size_t n = samples_before(b, p->batch.end_shard) - first;
    for (size_t i = 0; i < n && !w->kept; i++) {
        uint8_t *image = p->pixels + i * w->sample_bytes;
        memcpy(image, b->pixels[first + i], w->sample_bytes);
        p->images[i] = image;
    }
    memcpy(p->rows, b->rows + first, n * sizeof *p->rows);
    memcpy(p->labels, b->labels + first, n * sizeof *p->labels);
    memcpy(p->ids, b->ids + first, n * sizeof *p->ids);
    p->batch.pixels = p->images;
    p->batch.rows = p->rows;
    p->batch.labels = p->labels;
    p->batch.ids = p->ids;
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void forward_body(void *parts, int member) {
    part *p = (part *)parts + member;
    p->rc = p->owner->backend->forward(p->engine, &p->batch, &p->err);
    p->spent = p->owner->backend->times(p->engine);
}

// Where the logits of this replica stand among those of all, in groups.
static size_t first_group(const part *p) {
    return groups_before(&p->batch, p->batch.first_shard);
}

static size_t block(const worker *w) {
    return (size_t)w->program->classes * GROUP;
}

static void gather_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const uint64_t begin = clock_now();
    p->owner->backend->gather_logits(p->engine,
                                     p->owner->logits + first_group(p) * block(p->owner));
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void backward_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const worker *w = p->owner;
    p->rc = w->backend->backward(p->engine, p->gradients, p->losses, &p->err);
    p->spent = w->backend->times(p->engine);
}

// sync_batch_norm: called from the threads of all replicas, in the same order.
static status exchange(void *context, const void *mine, size_t bytes_per_shard, void *rows,
                       error *err) {
    (void)err;
    part *p = context;
    worker *w = p->owner;
    const size_t bytes = bytes_per_shard * (size_t)w->local_shards;
    memcpy(w->sync + bytes * (size_t)p->number, mine, bytes);
    team_barrier(w->team);
    memcpy(rows, w->sync, bytes_per_shard * (size_t)w->shards);
    team_barrier(w->team);
    return STATUS_OK;
}

// ---- What the master does ----

static void loss_at_master(worker *w) {
    const uint64_t begin = clock_now();
    w->backend->loss(w->parts[0].engine, w->batch, w->logits, w->losses);
    alone(w, LOSS, PHASE_FORWARD, begin);
}

static status scatter_gradients(worker *w, error *err) {
    const uint64_t begin = clock_now();
    for (int r = 0; r < w->replicas; r++) {
        const part *p = &w->parts[r];
        const size_t floats = w->backend->logits_floats(p->engine), first = first_group(p);
        engine_copy *c = &w->copies[2 * r];
        c[0] = (engine_copy){p->gradients, w->logits + first * block(w), floats};
        c[1] = (engine_copy){p->losses, w->losses + first, floats / block(w)};
    }
    const status rc = w->backend->copy(w->engines[0], w->copies, 2 * w->replicas, err);
    alone(w, SCATTER_GRADIENT, PHASE_COPY, begin);
    return rc;
}

// What the replicas have the sums of: w->cover.
static void cover_replicas(worker *w) {
    const reduction_tree *tree = w->backend->tree(w->engines[0]);
    const int *leaves = w->backend->shard_leaves(w->engines[0]);
    int terms = 0;
    for (int r = 0; r < w->replicas; r++) {
        const int count = reduction_tree_cover(tree, leaves[r * w->local_shards],
                                               leaves[(r + 1) * w->local_shards], w->cover + terms);
        terms += count;
        if (r > 0) w->bytes[REDUCE] += (uint64_t)count * w->record * sizeof(float);
    }
}

static void reduce_on_host(worker *w) {
    const reduction_tree *tree = w->backend->tree(w->engines[0]);
    float *out = w->backend->reduced(w->engines[0]);
    int terms = 0;
    for (int r = 0; r < w->replicas; r++) {
        int count;
        float *const *records = w->backend->records(w->engines[r], &count);
        for (int k = 0; k < count; k++) w->terms[terms++] = records[k];
    }
    if (!w->reduce_fast) {
        reduction_tree_sum(tree, w->cover, w->terms, terms, out, w->record);
    } else {
        // The usual way: replica after replica.
        memmove(out, w->terms[0], w->record * sizeof *out);
        for (int k = 1; k < terms; k++) reduction_add(out, w->terms[k], out, w->record);
    }
}

static status reduce_to_master(worker *w, error *err) {
    const uint64_t begin = clock_now();
    status rc = STATUS_OK;
    cover_replicas(w);
    if (w->backend->reduce_engines)
        rc = w->backend->reduce_engines(w->engines, w->replicas, !w->reduce_fast, err);
    else
        reduce_on_host(w);
    alone(w, REDUCE, PHASE_COMM, begin);
    return rc;
}

static void count_traffic(worker *w) {
    const batch *b = w->batch;
    const uint64_t others = (uint64_t)(w->replicas - 1);
    const uint64_t arenas = w->program->parameters + w->program->buffers;
    const size_t mine = samples_before(b, w->local_shards), total = samples_before(b, w->shards);
    const uint64_t image = w->kept ? sizeof(uint32_t) : w->sample_bytes; // pixels, or which row
    uint64_t logits = 0;
    for (int r = 1; r < w->replicas; r++) logits += w->backend->logits_floats(w->parts[r].engine);
    w->bytes[BROADCAST] += others * arenas * sizeof(float);
    w->bytes[SCATTER] += (uint64_t)(total - mine) * (image + sizeof(uint8_t) + sizeof(uint32_t));
    w->bytes[GATHER] += logits * sizeof(float);
    w->bytes[SCATTER_GRADIENT] += logits * sizeof(float);
    w->steps++;
}

static status step(worker *w, const batch *b, const update_rule *rule, const bool wish[WISHES],
                   step_result *result, error *err) {
    status rc;
    w->batch = b;
    uint64_t begin = w->began = clock_now();
    TRY(w->backend->read(w->parts[0].engine, w->parameters, w->buffers, NULL, err));
    alone(w, BROADCAST, PHASE_COPY, begin);
    TRY(all(w, BROADCAST, broadcast_body, err));
    TRY(all(w, SCATTER, scatter_body, err));
    TRY(all(w, FORWARD, forward_body, err));
    TRY(all(w, GATHER, gather_body, err));
    loss_at_master(w);
    TRY(scatter_gradients(w, err));
    TRY(all(w, BACKWARD, backward_body, err));
    TRY(reduce_to_master(w, err));
    count_traffic(w);
    begin = clock_now();
    TRY(w->backend->update(w->parts[0].engine, rule, &result->update, err));
    alone(w, UPDATE, PHASE_UPDATE, begin);
    const uint64_t end = trace_clock(w->parts[0].track);
    for (int r = 0; r < w->replicas; r++)
        trace_rest(w->parts[r].track, phase_name(PHASE_WAIT), w->began, end);
    memcpy(result->agreed, wish, sizeof result->agreed); // one process: nobody else to ask
out:
    return rc;
}

// ---- Opening and closing ----

static void close(worker *w) {
    if (!w) return;
    team_free(w->team);
    for (int r = 0; w->parts && r < w->replicas; r++) {
        part *p = &w->parts[r];
        w->backend->close(p->engine);
        free(p->pixels);
        free(p->images);
        free(p->labels);
        free(p->ids);
        free(p->rows);
    }
    void *own[] = {w->parts, w->engines, w->copies, w->cover, w->terms, w->sync};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    free(w);
}

#define NEW(pointer, count)                                              \
    do {                                                                 \
        (pointer) = memory_new_aligned((count), sizeof *(pointer), err); \
        if (!(pointer)) return STATUS_FAILED;                            \
    } while (0)

// Where an engine computes; freed with it.
#define ALLOCATE(pointer, engine, count)                          \
    do {                                                          \
        (pointer) = w->backend->allocate((engine), (count), err); \
        if (!(pointer)) return STATUS_FAILED;                     \
    } while (0)

static status open_track(part *p, const worker_options *o, error *err) {
    p->track = trace_first(o->trace);
    if (p->number == 0) return STATUS_OK;
    return trace_track_new(o->trace, &p->track, err, "replica %d", p->number);
}

static status open_part(worker *w, int number, const worker_options *o, error *err) {
    char threads[TRACE_NAME_BYTES];
    part *p = &w->parts[number];
    const experiment *e = o->experiment;
    const size_t shard_samples = (size_t)(e->global_batch / e->virtual_shards);
    const size_t samples = shard_samples * (size_t)w->local_shards;
    const size_t groups = (shard_samples + GROUP - 1) / GROUP * (size_t)w->local_shards;
    *p = (part){.owner = w, .number = number};
    NEW(p->pixels, w->kept ? 0 : samples * w->sample_bytes);
    NEW(p->images, samples);
    NEW(p->labels, samples);
    NEW(p->ids, samples);
    NEW(p->rows, samples);
    if (open_track(p, o, err) != STATUS_OK) return STATUS_FAILED;
    snprintf(threads, sizeof threads, "replica %d thread", number);
    engine_options options = {.threads = o->threads,
                              .spin = o->spin,
                              .isa = o->isa,
                              .device = devices_index(o->devices, number),
                              .shards = w->shards,
                              .local_shards = w->local_shards,
                              .shard_samples = (int)shard_samples,
                              .seed = e->seed,
                              .sync_batch_norm = e->sync_batch_norm,
                              .exchange = w->replicas > 1 ? exchange : NULL,
                              .exchange_context = p,
                              .split = true,
                              .trace = o->trace,
                              .track = p->track,
                              .track_name = threads};
    memcpy(options.mean, o->normalization.mean, sizeof options.mean);
    memcpy(options.std, o->normalization.std, sizeof options.std);
    strategy_give_data(o, &options);
    const status rc = o->backend->open(w->program, &options, strategy_update_kind(&e->optimizer),
                                       &p->engine, err);
    if (rc != STATUS_OK) return rc;
    w->engines[number] = p->engine;
    ALLOCATE(p->gradients, p->engine, groups * block(w));
    ALLOCATE(p->losses, p->engine, groups);
    return STATUS_OK;
}

static size_t widest_layer(const program *p) {
    int channels = 0;
    for (int i = 0; i < p->count; i++)
        if (p->layers[i].out.channels > channels) channels = p->layers[i].out.channels;
    return (size_t)channels;
}

static status open_master(worker *w, const worker_options *o, error *err) {
    const size_t shards = (size_t)w->shards;
    const size_t groups =
        ((size_t)(o->experiment->global_batch / w->shards) + GROUP - 1) / GROUP * shards;
    engine *master = w->engines[0];
    ALLOCATE(w->parameters, master, w->program->parameters);
    ALLOCATE(w->buffers, master, w->program->buffers);
    ALLOCATE(w->logits, master, groups * block(w));
    ALLOCATE(w->losses, master, groups);
    if (w->backend->connect) w->transport = w->backend->connect(w->engines, w->replicas);
    return STATUS_OK;
}

static status take_memory(worker *w, error *err) {
    NEW(w->parts, (size_t)w->replicas);
    NEW(w->engines, (size_t)w->replicas);
    NEW(w->copies, 2 * (size_t)w->replicas);
    NEW(w->cover, (size_t)w->replicas * 2 * REDUCTION_TREE_MAX_DEPTH);
    NEW(w->terms, (size_t)w->replicas * 2 * REDUCTION_TREE_MAX_DEPTH);
    NEW(w->sync, (size_t)w->shards * widest_layer(w->program) * 2 * sizeof(double));
    return STATUS_OK;
}

static status open(const worker_options *o, worker **out, error *err) {
    status rc = STATUS_FAILED;
    *out = NULL;
    worker *w = memory_new(1, sizeof *w, err);
    if (!w) return rc;
    w->backend = o->backend;
    w->program = &o->experiment->model.program;
    w->replicas = o->world_size;
    w->shards = o->experiment->virtual_shards;
    w->local_shards = w->shards / w->replicas;
    w->sample_bytes = shape_size(w->program->input);
    w->kept = o->data != NULL;
    w->record = record_floats(w->program);
    w->reduce_fast = o->reduce_fast;
    TRY(take_memory(w, err));
    for (int r = 0; r < w->replicas; r++) TRY(open_part(w, r, o, err));
    TRY(open_master(w, o, err));
    TRY(team_new(w->replicas, o->spin, &w->team, err));
    for (int r = 0; r < w->replicas; r++)
        log_debug(o->log, "replica %d: shards %d to %d, batch [%d, %d, %d, %d], %.1f MiB", r,
                  r * w->local_shards, (r + 1) * w->local_shards - 1,
                  o->experiment->global_batch / w->replicas, w->program->input.channels,
                  w->program->input.height, w->program->input.width,
                  (double)o->backend->memory(w->parts[r].engine) / (1 << 20));
    *out = w;
    return STATUS_OK;
out:
    close(w);
    return rc;
}

// ---- The rest of the table ----

static void shards(const worker *w, int *first, int *end) {
    *first = 0;
    *end = w->shards;
}

static void write(worker *w, const float *parameters, const float *buffers, const float *state) {
    w->backend->write(w->parts[0].engine, parameters, buffers, state);
}

static status read(worker *w, float *parameters, float *buffers, float *state, error *err) {
    return w->backend->read(w->parts[0].engine, parameters, buffers, state, err);
}

static status infer(worker *w, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    return w->backend->infer(w->parts[0].engine, pixels, samples, logits, err);
}

static const char *isa(const worker *w) {
    return w->backend->isa(w->parts[0].engine);
}

static size_t memory(const worker *w) {
    size_t bytes = 0;
    for (int r = 0; r < w->replicas; r++) bytes += w->backend->memory(w->parts[r].engine);
    return bytes;
}

static bool has_images(const worker *w) {
    bool all = true;
    for (int r = 0; r < w->replicas; r++) all &= w->backend->has_images(w->parts[r].engine);
    return all;
}

static status put_times(const worker *w, yaml_node *segment, error *err) {
    yaml_node *seconds = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!seconds) return rc;
    seconds->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const double mean = w->steps ? (double)w->ns[k] / 1e9 / (double)w->steps : 0;
        TRY(yaml_put(seconds, activities[k].name, yaml_new_number(mean, err), err));
    }
    return yaml_put(segment, "seconds_per_step", seconds, err);
out:
    yaml_free(seconds);
    return rc;
}

static status put_traffic(const worker *w, yaml_node *segment, error *err) {
    yaml_node *bytes = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!bytes) return rc;
    bytes->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const uint64_t mean = w->steps ? w->bytes[k] / w->steps : 0;
        if (!activities[k].crosses) continue;
        TRY(yaml_put(bytes, activities[k].name, yaml_new_integer((int64_t)mean, err), err));
    }
    return yaml_put(segment, "bytes_per_step", bytes, err);
out:
    yaml_free(bytes);
    return rc;
}

static status put_replica(const worker *w, const part *p, yaml_node *list, error *err) {
    yaml_node *item = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    uint64_t wall = 0;
    if (!item) return rc;
    item->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) wall += w->ns[k];
    const double busy = wall ? (double)p->busy / (double)wall : 0;
    const double waiting = wall ? (double)p->waiting / (double)wall : 0;
    const int64_t bytes = (int64_t)w->backend->memory(p->engine);
    TRY(yaml_put(item, "busy", yaml_new_number(busy, err), err));
    TRY(yaml_put(item, "waiting", yaml_new_number(waiting, err), err));
    TRY(yaml_put(item, "bytes", yaml_new_integer(bytes, err), err));
    return yaml_append(list, item, err);
out:
    yaml_free(item);
    return rc;
}

static status describe(const worker *w, yaml_node *segment, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = STATUS_FAILED;
    if (!list) return rc;
    TRY(put_times(w, segment, err));
    TRY(put_traffic(w, segment, err));
    for (int r = 0; r < w->replicas; r++) TRY(put_replica(w, &w->parts[r], list, err));
    if (w->transport) TRY(yaml_put(segment, "transport", yaml_new_string(w->transport, err), err));
    return yaml_put(segment, "replicas", list, err);
out:
    yaml_free(list);
    return rc;
}

const strategy strategy_dp = {
    .name = "dp",
    .track = "replica 0",
    .find_world = find_world,
    .launch = strategy_launch_here,
    .open = open,
    .close = close,
    .shards = shards,
    .write = write,
    .read = read,
    .step = step,
    .infer = infer,
    .times = times,
    .isa = isa,
    .memory = memory,
    .has_images = has_images,
    .describe = describe,
};
