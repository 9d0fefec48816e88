// SPDX-License-Identifier: MIT
// strategy_mp.c - model parallelism: the layers are divided among devices, and the virtual shards
// flow through them as a pipeline.
//
//     stage 0   F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3
//     stage 1   .  F0 F1 F2 F3 .  .  B0 B1 B2 B3 .
//     stage 2   .  .  F0 F1 F2 F3 B0 B1 B2 B3 .  .
//
// Each stage runs the shards forward in order, then backward in order. With S stages and M
// micro-batches, fill and drain leave (S-1)/(M+S-1) of the time unused.
//
// With one shard this is the plain model parallelism of tutorials: one device works, the others
// wait. With sync_batch_norm all shards must meet in every batch norm, so they form one
// micro-batch. Each stage updates its own parameters. On a CPU a stage is one or more threads with
// a separate engine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/team.h"
#include "train/clipping.h"
#include "train/stages.h"
#include "train/strategy.h"

enum { MAX_STAGES = EXPERIMENT_MAX_STAGES };

typedef struct stage {
    program program; // this stage's layers
    int first_layer;
    engine *engine;
    trace_track *track;
    // Activations and gradients of the stage's output, all groups; NULL for the last stage. The
    // sender writes into the receiver's memory: activations lie with the next stage, gradients with
    // this one. So the copy is part of the sender's time, and the receiver may work on another
    // micro-batch meanwhile.
    float *activations, *gradients;
    int forward_done, backward_done; // micro-batches of this step
    int squares_done;                // 1: this stage's part of the gradient's norm is known
    phase_times spent;
    update_result result;
    uint64_t busy, waiting; // ns so far; the rest is copying and reducing
    uint64_t sent;          // bytes to its neighbours
    status rc;
    error err;
} stage;

struct executor {
    const backend *backend;
    const program *program;
    stage *stages;
    engine *whole;         // all layers, for inference
    const char *transport; // of transfers between stages; NULL: not applicable
    int count, shards;
    bool together; // sync_batch_norm: one micro-batch
    team *team;
    pthread_mutex_t lock; // guards the counters of finished micro-batches, and `failed`
    pthread_cond_t moved;
    bool failed;
    uint64_t began; // clock at the beginning of the step
    const batch *batch;
    const update_rule *rule;
    clipping clipping;
    size_t arrays;                           // of optimizer state
    float *parameters, *buffers, *state;     // whole arenas, for copying from a stage
    float *whole_parameters, *whole_buffers; // assembled, for inference
    phase_times own;
    uint64_t wall, steps, micro_batches;
};

static status find_world(const experiment *e, int wanted, int listed, world *w, error *err) {
    int first[MAX_STAGES + 1];
    *w = (world){.size = strategy_world_size(e, wanted, listed)};
    NEED(strategy_check_devices(wanted, listed, err));
    if (w->size > MAX_STAGES)
        return error_set(err, STATUS_USAGE, "cannot cut the model: '%d' stages are more than %d",
                         w->size, (int)MAX_STAGES);
    return stages_cut(e, w->size, first, err);
}

// ---- The pipeline ----

static int micro_batches(const executor *x) {
    int n = 0;
    if (x->together) return 1;
    while (n < x->shards && x->batch->count[n] > 0) n++;
    return n;
}

// Waits until `counter` exceeds `number`; false if another stage failed.
static bool wait_for(executor *x, const int *counter, int number) {
    pthread_mutex_lock(&x->lock);
    while (*counter <= number && !x->failed) pthread_cond_wait(&x->moved, &x->lock);
    const bool well = !x->failed;
    pthread_mutex_unlock(&x->lock);
    return well;
}

static void done(executor *x, int *counter, status rc) {
    pthread_mutex_lock(&x->lock);
    ++*counter;
    if (rc != STATUS_OK) x->failed = true;
    pthread_cond_broadcast(&x->moved);
    pthread_mutex_unlock(&x->lock);
}

// Traces the unrecorded part of the step so far as waiting. Returns the current time.
static uint64_t waited(const executor *x, const stage *s) {
    const uint64_t now = trace_clock(s->track);
    trace_rest(s->track, phase_name(PHASE_WAIT), x->began, now);
    return now;
}

static bool run_forward(executor *x, int number, int m) {
    stage *s = &x->stages[number], *before = number ? s - 1 : NULL;
    if (before && !wait_for(x, &before->forward_done, m)) return false;
    const uint64_t begin = waited(x, s);
    const run_part part = {.first_shard = x->together ? 0 : m,
                           .end_shard = x->together ? x->shards : m + 1,
                           .in = before ? before->activations : NULL,
                           .out = s->activations};
    s->rc = x->backend->run(s->engine, x->batch, &part, &s->err);
    trace_operation(s->track, phase_name(PHASE_FORWARD), m, begin, trace_clock(s->track));
    done(x, &s->forward_done, s->rc);
    return s->rc == STATUS_OK;
}

static bool run_backward(executor *x, int number, int m) {
    stage *s = &x->stages[number], *before = number ? s - 1 : NULL;
    if (s->activations && !wait_for(x, &(s + 1)->backward_done, m)) return false;
    const uint64_t begin = waited(x, s);
    const run_part part = {.backward = true,
                           .first_shard = x->together ? 0 : m,
                           .end_shard = x->together ? x->shards : m + 1,
                           .in = s->gradients,
                           .out = before ? before->gradients : NULL};
    s->rc = x->backend->run(s->engine, x->batch, &part, &s->err);
    trace_operation(s->track, phase_name(PHASE_BACKWARD), m, begin, trace_clock(s->track));
    done(x, &s->backward_done, s->rc);
    return s->rc == STATUS_OK;
}

// Gives this stage's part of the gradient's norm to all, and waits for theirs. Returns false if
// another stage failed.
static bool clip(executor *x, int number, update_rule *rule) {
    stage *s = &x->stages[number];
    if (rule->clip_norm <= 0) return true;
    clipping_add(&x->clipping, s->first_layer, s->first_layer + s->program.count,
                 x->backend->reduced(s->engine));
    done(x, &s->squares_done, STATUS_OK);
    for (int i = 0; i < x->count; i++)
        if (!wait_for(x, &x->stages[i].squares_done, 0)) return false;
    clipping_finish(&x->clipping, x->batch, rule);
    return true;
}

static void stage_body(void *argument, int number) {
    executor *x = argument;
    stage *s = &x->stages[number];
    const int n = micro_batches(x);
    for (int m = 0; m < n; m++)
        if (!run_forward(x, number, m)) return;
    for (int m = 0; m < n; m++)
        if (!run_backward(x, number, m)) return;
    phase_times t = x->backend->times(s->engine);
    const uint64_t begin = clock_now();
    s->rc = x->backend->reduce(&s->engine, 1, true, &s->err);
    const uint64_t reduced = clock_now();
    t.ns[PHASE_COMM] += reduced - begin;
    trace_phase(s->track, phase_name(PHASE_COMM), begin, reduced);
    trace_operation(s->track, "reduce", TRACE_UNNUMBERED, begin, reduced);
    update_rule rule = *x->rule;
    if (s->rc != STATUS_OK) {
        done(x, &s->squares_done, s->rc);
        return;
    }
    if (!clip(x, number, &rule)) return;
    s->rc = x->backend->update(s->engine, &rule, &s->result, &s->err);
    trace_operation(s->track, phase_name(PHASE_UPDATE), TRACE_UNNUMBERED, reduced,
                    trace_clock(s->track));
    const phase_times u = x->backend->times(s->engine);
    for (int p = 0; p < PHASES; p++) s->spent.ns[p] = t.ns[p] + u.ns[p];
}

// A stage's work is the time that its engine booked; for the rest of the step it waited for the
// others.
static void book(executor *x, uint64_t wall) {
    x->wall += wall;
    for (int i = 0; i < x->count; i++) {
        stage *s = &x->stages[i];
        uint64_t sum = 0;
        for (int p = 0; p < PHASES; p++) sum += s->spent.ns[p];
        s->spent.ns[PHASE_WAIT] += wall > sum ? wall - sum : 0;
        for (int p = 0; p < PHASES; p++) x->own.ns[p] += s->spent.ns[p];
        s->busy += strategy_busy(&s->spent);
        s->waiting += s->spent.ns[PHASE_WAIT];
    }
}

static uint64_t groups_of(const batch *b) {
    uint64_t n = 0;
    for (int v = 0; v < b->shards; v++) n += (uint64_t)((b->count[v] + GROUP - 1) / GROUP);
    return n;
}

// Activations cross each cut forward, their gradients backward.
static void count_traffic(executor *x) {
    const uint64_t groups = groups_of(x->batch);
    for (int i = 0; i + 1 < x->count; i++) {
        const uint64_t bytes =
            groups * block_floats(program_output(&x->stages[i].program)) * sizeof(float);
        x->stages[i].sent += bytes;
        x->stages[i + 1].sent += bytes;
    }
}

static status step(executor *x, const batch *b, const update_rule *rule,
                   const bool request[REQUESTS], step_result *result, error *err) {
    const uint64_t begin = x->began = clock_now();
    x->batch = b;
    x->rule = rule;
    x->failed = false;
    for (int i = 0; i < x->count; i++) {
        x->stages[i].forward_done = x->stages[i].backward_done = 0;
        x->stages[i].squares_done = 0;
        x->stages[i].spent = (phase_times){0};
    }
    team_run(x->team, stage_body, x);
    for (int i = 0; i < x->count; i++) {
        if (x->stages[i].rc == STATUS_OK) continue;
        *err = x->stages[i].err;
        return error_prefix(err, "stage %d: ", i);
    }
    // Only the last stage has the loss; the digest is a sum over all parameters, of which each
    // stage has its own.
    result->update = x->stages[x->count - 1].result;
    result->update.digest = 0;
    for (int i = 0; i < x->count; i++) result->update.digest += x->stages[i].result.digest;
    count_traffic(x);
    memcpy(result->agreed, request, sizeof result->agreed); // one process: no other requests
    x->micro_batches += (uint64_t)micro_batches(x);
    x->steps++;
    for (int i = 0; i < x->count; i++) (void)waited(x, &x->stages[i]);
    book(x, clock_now() - begin);
    return STATUS_OK;
}

static phase_times take_times(executor *x) {
    phase_times mean = x->own;
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= (uint64_t)x->count;
    x->own = (phase_times){0};
    return mean;
}

// ---- Opening and closing ----

static void close_executor(executor *x) {
    if (!x) return;
    team_free(x->team);
    for (int i = 0; x->stages && i < x->count; i++) x->backend->close(x->stages[i].engine);
    x->backend->close(x->whole);
    pthread_cond_destroy(&x->moved);
    pthread_mutex_destroy(&x->lock);
    clipping_release(&x->clipping);
    free(x->stages);
    free(x->state);
    free(x->buffers);
    free(x->parameters);
    free(x->whole_parameters);
    free(x->whole_buffers);
    free(x);
}

static status open_stage(executor *x, int number, const int *first, const executor_options *o,
                         engine_options options, error *err) {
    stage *s = &x->stages[number];
    s->program = *x->program;
    s->first_layer = first[number];
    s->program.layers = x->program->layers + first[number];
    s->program.count = first[number + 1] - first[number];
    s->program.input = s->program.layers[0].in;
    options.stage = true;
    options.device = devices_index(o->devices, number);
    options.receives = number > 0;
    options.sends = number + 1 < x->count;
    if (number == 0) strategy_give_data(o, &options);
    const optimizer_kind kind = o->experiment->optimizer.kind;
    char threads[TRACE_NAME_BYTES];
    s->track = trace_first(o->trace);
    if (number > 0) trace_track_new(o->trace, &s->track, "stage %d", number);
    snprintf(threads, sizeof threads, "stage %d thread", number);
    options.trace = o->trace;
    options.track = s->track;
    options.track_name = threads;
    return x->backend->open(&s->program, &options, kind, &s->engine, err);
}

// Allocates the activations and gradients between stages, for a step of `groups` groups.
static status connect_stages(executor *x, size_t groups, error *err) {
    engine *engines[MAX_STAGES];
    for (int i = 0; i < x->count; i++) engines[i] = x->stages[i].engine;
    for (int i = 0; i + 1 < x->count; i++) {
        stage *s = &x->stages[i];
        const size_t floats = groups * block_floats(program_output(&s->program));
        s->activations = x->backend->allocate(engines[i + 1], floats, err);
        s->gradients = s->activations ? x->backend->allocate(engines[i], floats, err) : NULL;
        if (!s->gradients) return STATUS_FAILED;
    }
    if (x->backend->connect) x->transport = x->backend->connect(engines, x->count);
    return STATUS_OK;
}

static status open_stages(executor *x, const executor_options *o, error *err) {
    const experiment *e = o->experiment;
    int first[MAX_STAGES + 1];
    engine_options options = strategy_engine_options(o, 0);
    NEED(stages_cut(e, x->count, first, err));
    const size_t shard_groups = ((size_t)options.shard_samples + GROUP - 1) / GROUP;
    for (int i = 0; i < x->count; i++) NEED(open_stage(x, i, first, o, options, err));
    NEED(connect_stages(x, shard_groups * (size_t)x->shards, err));
    for (int i = 0; i < x->count; i++)
        log_debug(o->log, "stage %d: layers %s to %s, %.1f MiB", i,
                  x->program->layers[first[i]].name, x->program->layers[first[i + 1] - 1].name,
                  (double)x->backend->describe(x->stages[i].engine).memory / (1 << 20));
    options.shards = options.local_shards = options.shard_samples = 1;
    options.sync_batch_norm = false;
    options.trace = o->trace;
    options.track = x->stages[0].track; // the thread that evaluates
    options.track_name = "evaluation thread";
    return x->backend->open(x->program, &options, e->optimizer.kind, &x->whole, err);
}

static status open_executor(const executor_options *o, executor **out, error *err) {
    status rc = STATUS_FAILED;
    *out = NULL;
    executor *x = memory_new(1, sizeof *x);
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->moved, NULL);
    x->backend = o->backend;
    x->program = &o->experiment->model.program;
    x->count = o->world_size;
    x->shards = o->experiment->virtual_shards;
    x->together = o->experiment->sync_batch_norm;
    x->arrays = (size_t)optimizer_states(o->experiment->optimizer.kind);
    x->stages = memory_new((size_t)x->count, sizeof *x->stages);
    x->state = memory_try_new(x->arrays * x->program->parameters, sizeof *x->state, err);
    x->parameters = memory_try_new(x->program->parameters, sizeof *x->parameters, err);
    x->buffers = memory_try_new(x->program->buffers, sizeof *x->buffers, err);
    x->whole_parameters = memory_try_new(x->program->parameters, sizeof *x->parameters, err);
    x->whole_buffers = memory_try_new(x->program->buffers, sizeof *x->buffers, err);
    if (!x->state || !x->parameters || !x->buffers || !x->whole_parameters || !x->whole_buffers)
        goto out;
    if (o->experiment->optimizer.clip_norm > 0 && strcmp(o->backend->name, "cpu") != 0) {
        rc = error_set(err, STATUS_USAGE,
                       "cannot train in stages on GPUs with 'optimizer.clip_norm': a stage's "
                       "gradients stay on its GPU; --device cpu, or another tool, works");
        goto out;
    }
    clipping_init(&x->clipping, &o->experiment->model, o->experiment->parameter_groups.of_line);
    TRY(open_stages(x, o, err));
    TRY(team_new(x->count, false, &x->team, err));
    *out = x;
    return STATUS_OK;
out:
    close_executor(x);
    return rc;
}

// ---- Parameters ----

static void shards(const executor *x, int *first, int *end) {
    *first = 0;
    *end = x->shards;
}

static void write_arenas(executor *x, const float *parameters, const float *buffers,
                         const float *state) {
    for (int i = 0; i < x->count; i++)
        x->backend->write(x->stages[i].engine, parameters, buffers, state);
}

static void take(float *to, const float *from, size_t at, size_t n) {
    if (to) memcpy(to + at, from + at, n * sizeof *to);
}

// Copies the layers of stage s out of whole arenas.
static void take_layers(const executor *x, const stage *s, float *parameters, float *buffers,
                        float *state, size_t arrays) {
    for (int i = 0; i < s->program.count; i++) {
        const layer *l = &s->program.layers[i];
        const size_t weights = layer_weights(l), biases = layer_biases(l);
        take(parameters, x->parameters, l->weight, weights);
        take(parameters, x->parameters, l->bias, biases);
        for (size_t a = 0; a < arrays; a++) {
            take(state, x->state, a * x->program->parameters + l->weight, weights);
            take(state, x->state, a * x->program->parameters + l->bias, biases);
        }
        take(buffers, x->buffers, l->mean, layer_statistics(l));
        take(buffers, x->buffers, l->variance, layer_statistics(l));
    }
}

static status read_arenas(executor *x, float *parameters, float *buffers, float *state,
                          error *err) {
    for (int i = 0; i < x->count; i++) {
        NEED(x->backend->read(x->stages[i].engine, x->parameters, x->buffers, x->state, err));
        take_layers(x, &x->stages[i], parameters, buffers, state, x->arrays);
    }
    return STATUS_OK;
}

static status infer(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    for (int i = 0; i < x->count; i++) {
        NEED(x->backend->read(x->stages[i].engine, x->parameters, x->buffers, NULL, err));
        take_layers(x, &x->stages[i], x->whole_parameters, x->whole_buffers, NULL, 0);
    }
    x->backend->write(x->whole, x->whole_parameters, x->whole_buffers, NULL);
    return x->backend->infer(x->whole, pixels, samples, logits, err);
}

// ---- Other hooks ----

static engine_description engines(const executor *x) {
    engine *all[MAX_STAGES];
    for (int i = 0; i < x->count; i++) all[i] = x->stages[i].engine;
    return strategy_describe(x->backend, all, x->count);
}

// ---- Figures for the manifest ----

static void put_stage(const executor *x, const stage *s, yaml_node *list) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    item->flow = true;
    const program *p = &s->program;
    const double busy = x->wall ? (double)s->busy / (double)x->wall : 0;
    const double waiting = x->wall ? (double)s->waiting / (double)x->wall : 0;
    const int64_t sent = x->steps ? (int64_t)(s->sent / x->steps) : 0;
    const int64_t bytes = (int64_t)x->backend->describe(s->engine).memory;
    yaml_put(item, "first", yaml_new_string(p->layers[0].name));
    yaml_put(item, "last", yaml_new_string(p->layers[p->count - 1].name));
    yaml_put(item, "busy", yaml_new_number(busy));
    yaml_put(item, "waiting", yaml_new_number(waiting));
    yaml_put(item, "bytes_sent_per_step", yaml_new_integer(sent));
    yaml_put(item, "bytes", yaml_new_integer(bytes));
    yaml_append(list, item);
}

// The bubble: the measured fraction of time in which stages were idle, and the fraction that fill
// and drain alone predict.
static void put_bubble(const executor *x, yaml_node *segment) {
    uint64_t waiting = 0, sent = 0;
    for (int i = 0; i < x->count; i++) {
        waiting += x->stages[i].waiting;
        sent += x->stages[i].sent;
    }
    const double stages = x->count, m = (double)x->micro_batches / (double)x->steps;
    const double measured = (double)waiting / ((double)x->wall * stages);
    const double predicted = (stages - 1) / (m + stages - 1);
    const int64_t bytes = (int64_t)(sent / x->steps);
    yaml_put(segment, "micro_batches", yaml_new_number(m));
    yaml_put(segment, "bubble_measured", yaml_new_number(measured));
    yaml_put(segment, "bubble_predicted", yaml_new_number(predicted));
    yaml_put(segment, "bytes_per_step", yaml_new_integer(bytes));
}

static void describe(const executor *x, yaml_node *segment) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < x->count; i++) put_stage(x, &x->stages[i], list);
    yaml_put(segment, "stages", list);
    if (x->transport) yaml_put(segment, "transport", yaml_new_string(x->transport));
    if (x->steps > 0) put_bubble(x, segment);
}

const strategy strategy_mp = {
    .name = "mp",
    .track = "stage 0",
    .find_world = find_world,
    .launch = strategy_launch_one,
    .open = open_executor,
    .close = close_executor,
    .shards = shards,
    .write = write_arenas,
    .read = read_arenas,
    .step = step,
    .infer = infer,
    .times = take_times,
    .engines = engines,
    .describe = describe,
};
