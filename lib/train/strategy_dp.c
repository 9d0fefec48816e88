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
    executor *owner;
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

struct executor {
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
static void book(executor *x, part *p, const phase_times *spent) {
    for (int k = 0; k < PHASES; k++) x->own.ns[k] += spent->ns[k];
    p->busy += strategy_busy(spent);
    p->waiting += spent->ns[PHASE_WAIT];
}

// A trace shows what a replica did as an operation, and in it phases: those that its engine
// records, and copying. From one to the next it waits.
static void traced_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const uint64_t begin = trace_clock(p->track);
    trace_rest(p->track, phase_name(PHASE_WAIT), x->began, begin);
    x->body(parts, member);
    const uint64_t end = trace_clock(p->track);
    if (activities[x->what].crosses) trace_rest(p->track, phase_name(PHASE_COPY), begin, end);
    trace_operation(p->track, activities[x->what].name, TRACE_UNNUMBERED, begin, end);
}

// Runs `body` on all replicas at once. A replica's time is what it booked to `spent`; the rest of
// the region is waiting.
static status all(executor *x, activity what, void (*body)(void *, int), error *err) {
    const uint64_t begin = clock_now();
    for (int r = 0; r < x->replicas; r++) x->parts[r].spent = (phase_times){0};
    x->what = what;
    x->body = body;
    team_run(x->team, traced_body, x->parts);
    const uint64_t wall = clock_now() - begin;
    x->ns[what] += wall;
    for (int r = 0; r < x->replicas; r++) {
        part *p = &x->parts[r];
        uint64_t sum = 0;
        for (int k = 0; k < PHASES; k++) sum += p->spent.ns[k];
        p->spent.ns[PHASE_WAIT] += wall > sum ? wall - sum : 0;
        book(x, p, &p->spent);
        if (p->rc == STATUS_OK) continue;
        *err = p->err;
        return error_prefix(err, "replica %d: ", r);
    }
    return STATUS_OK;
}

// The master worked since `begin`, and the others waited.
static void alone(executor *x, activity what, phase spent, uint64_t begin) {
    const uint64_t end = clock_now(), ns = end - begin;
    trace_track *track = x->parts[0].track;
    trace_rest(track, phase_name(PHASE_WAIT), x->began, begin);
    trace_rest(track, phase_name(spent), begin, end);
    trace_operation(track, activities[what].name, TRACE_UNNUMBERED, begin, end);
    x->ns[what] += ns;
    for (int r = 0; r < x->replicas; r++) {
        phase_times times = {0};
        times.ns[r == 0 ? spent : PHASE_WAIT] = ns;
        book(x, &x->parts[r], &times);
    }
}

static phase_times times(executor *x) {
    phase_times mean = x->own;
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= (uint64_t)x->replicas;
    x->own = (phase_times){0};
    (void)x->backend->times(x->parts[0].engine);
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
    const executor *x = p->owner;
    const uint64_t begin = clock_now();
    if (p->number > 0) x->backend->write(p->engine, x->parameters, x->buffers, NULL);
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void scatter_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const batch *b = x->batch;
    const uint64_t begin = clock_now();
    p->batch = *b;
    p->batch.first_shard = p->number * x->local_shards;
    p->batch.end_shard = p->batch.first_shard + x->local_shards;
    const size_t first = samples_before(b, p->batch.first_shard);
    const size_t n = samples_before(b, p->batch.end_shard) - first;
    for (size_t i = 0; i < n && !x->kept; i++) {
        uint8_t *image = p->pixels + i * x->sample_bytes;
        memcpy(image, b->pixels[first + i], x->sample_bytes);
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

static size_t block(const executor *x) {
    return (size_t)x->program->classes * GROUP;
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
    const executor *x = p->owner;
    p->rc = x->backend->backward(p->engine, p->gradients, p->losses, &p->err);
    p->spent = x->backend->times(p->engine);
}

// sync_batch_norm: called from the threads of all replicas, in the same order.
static status exchange(void *context, const void *mine, size_t bytes_per_shard, void *rows,
                       error *err) {
    (void)err;
    part *p = context;
    executor *x = p->owner;
    const size_t bytes = bytes_per_shard * (size_t)x->local_shards;
    memcpy(x->sync + bytes * (size_t)p->number, mine, bytes);
    team_barrier(x->team);
    memcpy(rows, x->sync, bytes_per_shard * (size_t)x->shards);
    team_barrier(x->team);
    return STATUS_OK;
}

// ---- What the master does ----

static void loss_at_master(executor *x) {
    const uint64_t begin = clock_now();
    x->backend->loss(x->parts[0].engine, x->batch, x->logits, x->losses);
    alone(x, LOSS, PHASE_FORWARD, begin);
}

static status scatter_gradients(executor *x, error *err) {
    const uint64_t begin = clock_now();
    for (int r = 0; r < x->replicas; r++) {
        const part *p = &x->parts[r];
        const size_t floats = x->backend->logits_floats(p->engine), first = first_group(p);
        engine_copy *c = &x->copies[2 * r];
        c[0] = (engine_copy){p->gradients, x->logits + first * block(x), floats};
        c[1] = (engine_copy){p->losses, x->losses + first, floats / block(x)};
    }
    const status rc = x->backend->copy(x->engines[0], x->copies, 2 * x->replicas, err);
    alone(x, SCATTER_GRADIENT, PHASE_COPY, begin);
    return rc;
}

// What the replicas have the sums of: x->cover.
static void cover_replicas(executor *x) {
    const reduction_tree *tree = x->backend->tree(x->engines[0]);
    const int *leaves = x->backend->shard_leaves(x->engines[0]);
    int terms = 0;
    for (int r = 0; r < x->replicas; r++) {
        const int count = reduction_tree_cover(tree, leaves[r * x->local_shards],
                                               leaves[(r + 1) * x->local_shards], x->cover + terms);
        terms += count;
        if (r > 0) x->bytes[REDUCE] += (uint64_t)count * x->record * sizeof(float);
    }
}

static void reduce_on_host(executor *x) {
    const reduction_tree *tree = x->backend->tree(x->engines[0]);
    float *out = x->backend->reduced(x->engines[0]);
    int terms = 0;
    for (int r = 0; r < x->replicas; r++) {
        int count;
        float *const *records = x->backend->records(x->engines[r], &count);
        for (int k = 0; k < count; k++) x->terms[terms++] = records[k];
    }
    if (!x->reduce_fast) {
        reduction_tree_sum(tree, x->cover, x->terms, terms, out, x->record);
    } else {
        // The usual way: replica after replica.
        memmove(out, x->terms[0], x->record * sizeof *out);
        for (int k = 1; k < terms; k++) reduction_add(out, x->terms[k], out, x->record);
    }
}

static status reduce_to_master(executor *x, error *err) {
    const uint64_t begin = clock_now();
    status rc = STATUS_OK;
    cover_replicas(x);
    if (x->backend->reduce_engines)
        rc = x->backend->reduce_engines(x->engines, x->replicas, !x->reduce_fast, err);
    else
        reduce_on_host(x);
    alone(x, REDUCE, PHASE_COMM, begin);
    return rc;
}

static void count_traffic(executor *x) {
    const batch *b = x->batch;
    const uint64_t others = (uint64_t)(x->replicas - 1);
    const uint64_t arenas = x->program->parameters + x->program->buffers;
    const size_t mine = samples_before(b, x->local_shards), total = samples_before(b, x->shards);
    const uint64_t image = x->kept ? sizeof(uint32_t) : x->sample_bytes; // pixels, or which row
    uint64_t logits = 0;
    for (int r = 1; r < x->replicas; r++) logits += x->backend->logits_floats(x->parts[r].engine);
    x->bytes[BROADCAST] += others * arenas * sizeof(float);
    x->bytes[SCATTER] += (uint64_t)(total - mine) * (image + sizeof(uint8_t) + sizeof(uint32_t));
    x->bytes[GATHER] += logits * sizeof(float);
    x->bytes[SCATTER_GRADIENT] += logits * sizeof(float);
    x->steps++;
}

static status step(executor *x, const batch *b, const update_rule *rule, const bool wish[WISHES],
                   step_result *result, error *err) {
    status rc;
    x->batch = b;
    uint64_t begin = x->began = clock_now();
    TRY(x->backend->read(x->parts[0].engine, x->parameters, x->buffers, NULL, err));
    alone(x, BROADCAST, PHASE_COPY, begin);
    TRY(all(x, BROADCAST, broadcast_body, err));
    TRY(all(x, SCATTER, scatter_body, err));
    TRY(all(x, FORWARD, forward_body, err));
    TRY(all(x, GATHER, gather_body, err));
    loss_at_master(x);
    TRY(scatter_gradients(x, err));
    TRY(all(x, BACKWARD, backward_body, err));
    TRY(reduce_to_master(x, err));
    count_traffic(x);
    begin = clock_now();
    TRY(x->backend->update(x->parts[0].engine, rule, &result->update, err));
    alone(x, UPDATE, PHASE_UPDATE, begin);
    const uint64_t end = trace_clock(x->parts[0].track);
    for (int r = 0; r < x->replicas; r++)
        trace_rest(x->parts[r].track, phase_name(PHASE_WAIT), x->began, end);
    memcpy(result->agreed, wish, sizeof result->agreed); // one process: nobody else to ask
out:
    return rc;
}

// ---- Opening and closing ----

static void close(executor *x) {
    if (!x) return;
    team_free(x->team);
    for (int r = 0; x->parts && r < x->replicas; r++) {
        part *p = &x->parts[r];
        x->backend->close(p->engine);
        free(p->pixels);
        free(p->images);
        free(p->labels);
        free(p->ids);
        free(p->rows);
    }
    void *own[] = {x->parts, x->engines, x->copies, x->cover, x->terms, x->sync};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    free(x);
}

#define NEW(pointer, count)                                              \
    do {                                                                 \
        (pointer) = memory_new_aligned((count), sizeof *(pointer), err); \
        if (!(pointer)) return STATUS_FAILED;                            \
    } while (0)

// Where an engine computes; freed with it.
#define ALLOCATE(pointer, engine, count)                          \
    do {                                                          \
        (pointer) = x->backend->allocate((engine), (count), err); \
        if (!(pointer)) return STATUS_FAILED;                     \
    } while (0)

static status open_track(part *p, const executor_options *o, error *err) {
    p->track = trace_first(o->trace);
    if (p->number == 0) return STATUS_OK;
    return trace_track_new(o->trace, &p->track, err, "replica %d", p->number);
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
    NEW(p->labels, samples);
    NEW(p->ids, samples);
    NEW(p->rows, samples);
    if (open_track(p, o, err) != STATUS_OK) return STATUS_FAILED;
    snprintf(threads, sizeof threads, "replica %d thread", number);
    engine_options options = {.threads = o->threads,
                              .spin = o->spin,
                              .isa = o->isa,
                              .device = devices_index(o->devices, number),
                              .shards = x->shards,
                              .local_shards = x->local_shards,
                              .shard_samples = (int)shard_samples,
                              .seed = e->seed,
                              .sync_batch_norm = e->sync_batch_norm,
                              .exchange = x->replicas > 1 ? exchange : NULL,
                              .exchange_context = p,
                              .split = true,
                              .trace = o->trace,
                              .track = p->track,
                              .track_name = threads};
    memcpy(options.mean, o->normalization.mean, sizeof options.mean);
    memcpy(options.std, o->normalization.std, sizeof options.std);
    strategy_give_data(o, &options);
    const status rc = o->backend->open(x->program, &options, strategy_update_kind(&e->optimizer),
                                       &p->engine, err);
    if (rc != STATUS_OK) return rc;
    x->engines[number] = p->engine;
    ALLOCATE(p->gradients, p->engine, groups * block(x));
    ALLOCATE(p->losses, p->engine, groups);
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
    ALLOCATE(x->logits, master, groups * block(x));
    ALLOCATE(x->losses, master, groups);
    if (x->backend->connect) x->transport = x->backend->connect(x->engines, x->replicas);
    return STATUS_OK;
}

static status take_memory(executor *x, error *err) {
    NEW(x->parts, (size_t)x->replicas);
    NEW(x->engines, (size_t)x->replicas);
    NEW(x->copies, 2 * (size_t)x->replicas);
    NEW(x->cover, (size_t)x->replicas * 2 * REDUCTION_TREE_MAX_DEPTH);
    NEW(x->terms, (size_t)x->replicas * 2 * REDUCTION_TREE_MAX_DEPTH);
    NEW(x->sync, (size_t)x->shards * widest_layer(x->program) * 2 * sizeof(double));
    return STATUS_OK;
}

static status open(const executor_options *o, executor **out, error *err) {
    status rc = STATUS_FAILED;
    *out = NULL;
    executor *x = memory_new(1, sizeof *x, err);
    if (!x) return rc;
    x->backend = o->backend;
    x->program = &o->experiment->model.program;
    x->replicas = o->world_size;
    x->shards = o->experiment->virtual_shards;
    x->local_shards = x->shards / x->replicas;
    x->sample_bytes = shape_size(x->program->input);
    x->kept = o->data != NULL;
    x->record = record_floats(x->program);
    x->reduce_fast = o->reduce_fast;
    TRY(take_memory(x, err));
    for (int r = 0; r < x->replicas; r++) TRY(open_part(x, r, o, err));
    TRY(open_master(x, o, err));
    TRY(team_new(x->replicas, o->spin, &x->team, err));
    for (int r = 0; r < x->replicas; r++)
        log_debug(o->log, "replica %d: shards %d to %d, batch [%d, %d, %d, %d], %.1f MiB", r,
                  r * x->local_shards, (r + 1) * x->local_shards - 1,
                  o->experiment->global_batch / x->replicas, x->program->input.channels,
                  x->program->input.height, x->program->input.width,
                  (double)o->backend->memory(x->parts[r].engine) / (1 << 20));
    *out = x;
    return STATUS_OK;
out:
    close(x);
    return rc;
}

// ---- The rest of the table ----

static void shards(const executor *x, int *first, int *end) {
    *first = 0;
    *end = x->shards;
}

static void write(executor *x, const float *parameters, const float *buffers, const float *state) {
    x->backend->write(x->parts[0].engine, parameters, buffers, state);
}

static status read(executor *x, float *parameters, float *buffers, float *state, error *err) {
    return x->backend->read(x->parts[0].engine, parameters, buffers, state, err);
}

static status infer(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    return x->backend->infer(x->parts[0].engine, pixels, samples, logits, err);
}

static const char *isa(const executor *x) {
    return x->backend->isa(x->parts[0].engine);
}

static size_t memory(const executor *x) {
    size_t bytes = 0;
    for (int r = 0; r < x->replicas; r++) bytes += x->backend->memory(x->parts[r].engine);
    return bytes;
}

static bool has_images(const executor *x) {
    bool all = true;
    for (int r = 0; r < x->replicas; r++) all &= x->backend->has_images(x->parts[r].engine);
    return all;
}

static status put_times(const executor *x, yaml_node *segment, error *err) {
    yaml_node *seconds = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!seconds) return rc;
    seconds->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const double mean = x->steps ? (double)x->ns[k] / 1e9 / (double)x->steps : 0;
        TRY(yaml_put(seconds, activities[k].name, yaml_new_number(mean, err), err));
    }
    return yaml_put(segment, "seconds_per_step", seconds, err);
out:
    yaml_free(seconds);
    return rc;
}

static status put_traffic(const executor *x, yaml_node *segment, error *err) {
    yaml_node *bytes = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!bytes) return rc;
    bytes->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const uint64_t mean = x->steps ? x->bytes[k] / x->steps : 0;
        if (!activities[k].crosses) continue;
        TRY(yaml_put(bytes, activities[k].name, yaml_new_integer((int64_t)mean, err), err));
    }
    return yaml_put(segment, "bytes_per_step", bytes, err);
out:
    yaml_free(bytes);
    return rc;
}

static status put_replica(const executor *x, const part *p, yaml_node *list, error *err) {
    yaml_node *item = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    uint64_t wall = 0;
    if (!item) return rc;
    item->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) wall += x->ns[k];
    const double busy = wall ? (double)p->busy / (double)wall : 0;
    const double waiting = wall ? (double)p->waiting / (double)wall : 0;
    const int64_t bytes = (int64_t)x->backend->memory(p->engine);
    TRY(yaml_put(item, "busy", yaml_new_number(busy, err), err));
    TRY(yaml_put(item, "waiting", yaml_new_number(waiting, err), err));
    TRY(yaml_put(item, "bytes", yaml_new_integer(bytes, err), err));
    return yaml_append(list, item, err);
out:
    yaml_free(item);
    return rc;
}

static status describe(const executor *x, yaml_node *segment, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = STATUS_FAILED;
    if (!list) return rc;
    TRY(put_times(x, segment, err));
    TRY(put_traffic(x, segment, err));
    for (int r = 0; r < x->replicas; r++) TRY(put_replica(x, &x->parts[r], list, err));
    if (x->transport) TRY(yaml_put(segment, "transport", yaml_new_string(x->transport, err), err));
    return yaml_put(segment, "replicas", list, err);
out:
    yaml_free(list);
    return rc;
}

const strategy strategy_dp = {
    .name = "dp",
    .reduces = true,
    .track = "replica 0",
    .find_world = find_world,
    .launch = strategy_launch_one,
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
