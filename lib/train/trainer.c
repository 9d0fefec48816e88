// SPDX-License-Identifier: MIT
#include "train/trainer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/signals.h"
#include "data/loader.h"
#include "train/average.h"
#include "train/evaluation.h"
#include "train/kept_states.h"
#include "train/run_segment.h"
#include "train/state_check.h"
#include "train/thread_number.h"
#include "train/trainer_lengths.h"
#include "train/training_progress.h"

// How often pending results are collected, for the progress display.
enum { PROGRESS_NS = 200000000 };

typedef struct trainer {
    const trainer_options *o;
    const experiment *experiment;
    checkpoint *c;
    comm *comm;
    bool lead; // rank 0: it evaluates and writes files and messages
    executor *executor;
    partition partition;
    sampler sampler;
    loader *loader;
    trace_track *track; // of this thread; NULL: no trace
    float *logits;
    training_progress progress;
    uint64_t steps_per_epoch, total;
    int tested;             // epochs that are over
    uint64_t began, before; // clock; ns of earlier segments
    uint64_t mark;          // clock at the end of the last settled step, or of the pause after it
    int unsettled;          // steps since then; their results are still in the executor
    int unsettled_images;   // in them
    uint64_t loading;       // ns spent waiting for their batches
    uint64_t epoch_began;   // clock
    uint64_t saved;         // clock of the last save
    uint64_t averaged;      // the times of the steps below this one are means over all ranks
    thread_number threads;
    uint64_t judged;                              // clock when they were last judged
    double waited;                                // clock_waited() then
    machine_counts machine;                       // before the first step
    parameter_group groups[PARAMETER_GROUPS - 1]; // of the current step's rule
    batch batch;                                  // of the current step
} trainer;

static uint32_t trained_samples(const trainer_options *o) {
    return o->train->samples - (o->left_out ? o->left_out->count : 0);
}

// ---- Communication other than the reduction ----

enum { AVERAGED_SERIES = PHASES + 1, AVERAGE_CHUNK = 256 }; // phases and wall time; steps

message_sizes trainer_message_sizes(const experiment *e, int ranks) {
    // sync_batch_norm gathers a few sums per channel, doubles at most.
    enum { STATISTICS_BYTES = 64 };
    int channels = 0;
    for (int i = 0; i < e->model.program.count; i++)
        if (e->model.program.layers[i].out.channels > channels)
            channels = e->model.program.layers[i].out.channels;
    size_t shards = (size_t)(e->virtual_shards / ranks);
    size_t statistics = shards * ((size_t)channels * STATISTICS_BYTES + STATISTICS_BYTES);
    size_t times = AVERAGE_CHUNK * AVERAGED_SERIES * sizeof(uint64_t);
    static_assert(AVERAGE_CHUNK * AVERAGED_SERIES * sizeof(uint64_t) >= STATE_CHECK_BYTES,
                  "state_check_ranks gathers no more");
    return (message_sizes){.floats = gradient_floats(&e->model.program),
                           .gather_bytes = statistics > times ? statistics : times};
}

// Joined ranks may have been given different files: report it before it shows as an odd result.
static status check_same_run(trainer *t, error *err) {
    const run_identity *run = &t->o->run;
    const executor_options *x = &t->o->executor;
    status rc = STATUS_OK;
    char mine[SHA256_TEXT_BYTES], *json = json_from_yaml(run->parameters);
    char *text = memory_format("%s %s %s %d %" PRIu64 " %s %d %" PRIu64 " %" PRIu64 " %d", json,
                               run->data, run->init, run->bits, t->c->step,
                               devices_arithmetic(x->devices), x->reduce_fast,
                               t->o->stop_after_steps, t->o->checkpoint_steps, t->o->keep_states);
    char *all = memory_new((size_t)t->comm->size, sizeof mine);
    sha256_buffer(text, strlen(text), mine);
    TRY(t->comm->ops->all_gather(t->comm, mine, sizeof mine, all, err));
    for (int r = 1; r < t->comm->size; r++)
        if (memcmp(all, all + (size_t)r * sizeof mine, sizeof mine) != 0) {
            rc = error_set(err, STATUS_INPUT,
                           "cannot train together: 'rank %d': its experiment, data, --init, state, "
                           "--math, --reduce, or when it saves or stops, differs from "
                           "rank 0's",
                           r);
            goto out;
        }
out:
    free(json);
    free(text);
    free(all);
    return rc;
}

static uint64_t *averaged_series(timeline *t, int k) {
    return k < PHASES ? t->time[k] : t->wall;
}

// Replaces this rank's times of steps [first, first + count) by the means over all.
static status average_chunk(trainer *t, uint64_t first, uint64_t count, uint64_t *mine,
                            uint64_t *all, error *err) {
    size_t n = count * AVERAGED_SERIES, ranks = (size_t)t->comm->size;
    for (int k = 0; k < AVERAGED_SERIES; k++)
        memcpy(mine + (size_t)k * count, averaged_series(&t->c->timeline, k) + first,
               count * sizeof *mine);
    NEED(t->comm->ops->all_gather(t->comm, mine, n * sizeof *mine, all, err));
    for (int k = 0; k < AVERAGED_SERIES; k++)
        for (size_t i = 0; i < count; i++) {
            uint64_t sum = 0;
            for (size_t r = 0; r < ranks; r++) sum += all[r * n + (size_t)k * count + i];
            averaged_series(&t->c->timeline, k)[first + i] = sum / ranks;
        }
    return STATUS_OK;
}

static status average_times(trainer *t, error *err) {
    size_t room = AVERAGE_CHUNK * AVERAGED_SERIES, ranks = (size_t)t->comm->size;
    status rc = STATUS_OK;
    uint64_t *mine = memory_new(room, sizeof *mine);
    uint64_t *all = memory_new(room * ranks, sizeof *all);
    while (rc == STATUS_OK && t->averaged < t->c->step) {
        uint64_t left = t->c->step - t->averaged;
        uint64_t count = left < AVERAGE_CHUNK ? left : AVERAGE_CHUNK;
        rc = average_chunk(t, t->averaged, count, mine, all, err);
        t->averaged += count;
    }
    free(mine);
    free(all);
    return rc;
}

// What a rank says at the end of an epoch.
typedef struct epoch_word {
    double loss; // of this epoch, for a plateau schedule
    uint64_t flags;
} epoch_word;

// *stop and *over become true if they are true on any rank. The loss of the epoch becomes rank 0's.
static status agree_on_epoch(trainer *t, int epoch, bool *stop, bool *over, error *err) {
    double *losses = t->c->losses;
    const epoch_word mine = {.loss = losses ? losses[epoch] : NAN,
                             .flags = (uint64_t)(*stop | *over << 1)};
    epoch_word *all = memory_new((size_t)t->comm->size, sizeof *all);
    status rc = t->comm->ops->all_gather(t->comm, &mine, sizeof mine, all, err);
    for (int r = 0; r < t->comm->size; r++) {
        *stop |= (all[r].flags & 1) != 0;
        *over |= (all[r].flags & 2) != 0;
    }
    if (losses) losses[epoch] = all[0].loss;
    free(all);
    return rc;
}

// ---- Steps ----

static update_rule rule_of(trainer *t) {
    const experiment *e = t->experiment;
    const optimizer *o = &e->optimizer;
    const uint64_t step = t->c->step;
    const double lr = learning_rate(o, &e->schedule, &e->lr_scaling, e->global_batch, step,
                                    t->steps_per_epoch, t->total, t->c->losses);
    parameter_groups_rule(&e->parameter_groups, lr, o->weight_decay, step, t->steps_per_epoch,
                          t->groups);
    update_rule rule = {
        .kind = o->kind,
        .lr = (float)lr,
        .weight_decay = (float)o->weight_decay,
        .step = step,
        .groups = t->groups,
        .clip_norm = o->clip_norm,
    };
    for (int i = 0; i < HYPERPARAMETERS; i++) rule.hyper[i] = (float)o->hyper[i];
    return rule;
}

static status read_all(trainer *t, error *err) {
    checkpoint *c = t->c;
    return t->o->strategy->read(t->executor, c->parameters, c->buffers, c->optimizer, err);
}

// Reports the current tensors: a device that works ahead may have done more steps.
static status end_at(trainer *t, uint64_t step, float loss, error *err) {
    status rc = read_all(t, err);
    return rc == STATUS_OK ? state_check_loss(t->c, step, t->steps_per_epoch, loss, err) : rc;
}

static void show_watcher(const trainer *t) {
    if (t->lead && t->o->watch && !t->o->turns) t->o->watch(t->o->watch_argument, t->tested);
}

// GPUs, whose steps may settle together, have a single thread.
static void judge_threads(trainer *t, uint64_t now) {
    const double waited = clock_waited();
    thread_number_judge(&t->threads, (waited - t->waited) / ((double)(now - t->judged) * 1e-9));
    t->waited = waited;
    t->judged = now;
}

// Books the results of the unsettled steps. Since this waits for a device that works ahead, such
// steps have only a common wall time, which is divided among them.
static status settle(trainer *t, update_result *results, error *err) {
    const uint64_t n = (uint64_t)t->unsettled, first = t->c->step - n;
    phase_times times = t->o->strategy->times(t->executor);
    times.ns[PHASE_LOAD] += t->loading;
    const uint64_t end = clock_now(), wall = (end - t->mark) / n;
    for (int p = 0; p < PHASES; p++) times.ns[p] /= n;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(results[i].loss)) return end_at(t, first + i, results[i].loss, err);
        timeline_append(&t->c->timeline, &results[i], wall, &times);
        trace_operation(t->track, "step", (int64_t)(first + i), t->mark + i * wall,
                        i + 1 == n ? end : t->mark + (i + 1) * wall);
    }
    training_progress_step(&t->progress, end, t->c->step, t->unsettled_images, results[n - 1].loss);
    show_watcher(t);
    if (thread_number_step(&t->threads, wall, (uint64_t)t->unsettled_images)) judge_threads(t, end);
    t->mark = end;
    t->unsettled = t->unsettled_images = 0;
    t->loading = 0;
    return STATUS_OK;
}

// Waits for pending results.
static status collect(trainer *t, error *err) {
    update_result results[ENGINE_PENDING];
    if (t->unsettled == 0) return STATUS_OK;
    status rc = t->o->strategy->collect(t->executor, results, t->unsettled, err);
    return rc == STATUS_OK ? settle(t, results, err) : rc;
}

static status train_step(trainer *t, bool agreed[REQUESTS], error *err) {
    const strategy *s = t->o->strategy;
    step_result result = {0};
    const uint64_t begin = clock_now();
    const bool overdue = t->o->checkpoint_ns && begin - t->saved >= t->o->checkpoint_ns;
    const bool requests[REQUESTS] = {
        [REQUEST_STOP] = signals_pending() != 0, [REQUEST_CHECKPOINT] = t->lead && overdue};
    t->batch = *loader_next(t->loader);
    const batch *b = &t->batch;
    const update_rule rule = rule_of(t);
    t->batch.threads = thread_number_next(&t->threads);
    t->batch.frozen = parameter_groups_frozen(&t->experiment->parameter_groups, rule.groups);
    const uint64_t loaded = clock_now();
    trace_phase(t->track, phase_name(PHASE_LOAD), begin, loaded);
    NEED(s->step(t->executor, b, &rule, requests, &result, err));
    memcpy(agreed, result.agreed, sizeof result.agreed);
    t->loading += loaded - begin;
    t->unsettled_images += batch_samples(b);
    t->unsettled++;
    t->c->step++;
    if (!result.update.pending) return settle(t, &result.update, err);
    const bool shown = clock_now() - t->mark >= PROGRESS_NS;
    return shown || t->unsettled == ENGINE_PENDING ? collect(t, err) : STATUS_OK;
}

// Takes the weights into their average. The time is part of the step that is done.
static status take_average(trainer *t, error *err) {
    const strategy *s = t->o->strategy;
    checkpoint *c = t->c;
    bool changed;
    NEED(collect(t, err));
    const uint64_t begin = clock_now();
    NEED(s->read(t->executor, c->parameters, c->buffers, NULL, err));
    average_take(&t->experiment->average, c, t->total, &changed);
    if (changed) s->write(t->executor, c->parameters, c->buffers, NULL);
    (void)s->times(t->executor);
    t->mark = clock_now();
    c->timeline.time[PHASE_UPDATE][c->step - 1] += t->mark - begin;
    c->timeline.wall[c->step - 1] += t->mark - begin;
    trace_operation(t->track, "average", TRACE_UNNUMBERED, begin, t->mark);
    return STATUS_OK;
}

// Checks the tensors that will be saved or evaluated: their values, and that all ranks have them.
static status check_tensors(trainer *t, error *err) {
    status rc = read_all(t, err);
    const uint64_t last = t->c->step ? t->c->step - 1 : 0;
    if (rc == STATUS_OK) rc = state_check_tensors(t->c, last, t->steps_per_epoch, err);
    if (rc != STATUS_OK) return rc;
    return state_check_ranks(t->comm, t->c, t->averaged, t->steps_per_epoch, err);
}

// Keeps a copy of the state for `replay`.
static status keep(trainer *t, error *err) {
    char *path;
    status rc = kept_states_path(t->o->out, t->c->step, &path, err);
    if (rc == STATUS_OK) rc = checkpoint_write(t->c, &t->o->run, path, NULL, err);
    free(path);
    return rc;
}

// A device may refuse early launches when steps are captured, so this is known only afterwards.
static void note_launches(const trainer *t, yaml_node *segment) {
    if (!t->o->executor.backend->keeps_data) return;
    const char *how = t->o->strategy->engines(t->executor).launches_early ? "early" : "serial";
    yaml_put(segment, "launches", yaml_new_string(how));
}

static status save(trainer *t, bool keeping, error *err) {
    checkpoint *c = t->c;
    const uint64_t begin = trace_clock(t->track);
    NEED(average_times(t, err));
    yaml_node *segment = c->execution->items[c->execution->count - 1];
    NEED(run_segment_describe_load(&t->machine, t->comm, segment, err));
    NEED(run_segment_describe_threads(&t->threads, t->comm, segment, err));
    if (t->lead) {
        c->total_ns = t->before + clock_now() - t->began;
        yaml_put(segment, "end_step", yaml_new_integer((int64_t)c->step));
        note_launches(t, segment);
        t->o->strategy->describe(t->executor, segment);
        if (t->o->state_path) NEED(checkpoint_write(c, &t->o->run, t->o->state_path, NULL, err));
        if (keeping) NEED(keep(t, err));
    }
    NEED(t->comm->ops->barrier(t->comm, err)); // no rank's next step includes rank 0's saving
    t->mark = t->saved = clock_now();
    trace_operation(t->track, "save", TRACE_UNNUMBERED, begin, t->mark);
    return STATUS_OK;
}

// ---- Epochs ----

static status infer(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    trainer *t = context;
    return t->o->strategy->infer(t->executor, pixels, samples, logits, err);
}

// Exchanges the weights of training, which the checkpoint holds, for those of the model, and back.
static void show_model(trainer *t, bool shown) {
    const checkpoint *c = t->c;
    const float *buffers = c->buffers, *parameters = c->parameters;
    if (!c->average_is_model) return;
    if (shown) parameters = checkpoint_model(c, &buffers);
    t->o->strategy->write(t->executor, parameters, buffers, NULL);
}

static bool validates(const trainer *t) {
    return t->o->left_out && t->o->left_out->count;
}

// Measures the accuracy and, for a plateau schedule, the loss. If a signal arrives, leaves NaN and
// sets *done to false: a resumed run will measure them.
static status measure(trainer *t, int epoch, bool *done, error *err) {
    evaluation e;
    const uint64_t begin = trace_clock(t->track);
    show_model(t, true);
    status rc = evaluation_infer(infer, t, t->o->test, t->logits, NULL, done, err);
    show_model(t, false);
    trace_operation(t->track, "evaluate", TRACE_UNNUMBERED, begin, trace_clock(t->track));
    if (rc != STATUS_OK || !*done) return rc;
    rc = evaluation_init(&e, t->o->test, t->logits, err);
    if (rc != STATUS_OK) return rc;
    t->c->accuracy[epoch] = evaluation_accuracy(&e);
    if (t->c->losses && validates(t)) t->c->losses[epoch] = e.loss;
    evaluation_release(&e);
    (void)t->o->strategy->times(t->executor); // evaluation is not part of any step
    return STATUS_OK;
}

static void say_why(const trainer *t, int epochs) {
    const early_stopping *rule = &t->experiment->early_stopping;
    const double accuracy = t->c->accuracy[epochs - 1];
    if (early_stopping_is_reached(rule, accuracy))
        log_info(t->o->log, "stopping after epoch %d: validation accuracy %.4f, 'stop_at' is %g",
                 epochs, accuracy, rule->stop_at);
    else
        log_info(t->o->log,
                 "early stopping after epoch %d: no better validation accuracy in %d epoch%s",
                 epochs, rule->patience, rule->patience == 1 ? "" : "s");
}

// Ends the run after this epoch, on every rank.
static void end_early(trainer *t, int epochs) {
    if (t->lead && epochs < t->c->epochs) say_why(t, epochs);
    t->c->epochs = epochs;
    t->total = t->c->step;
}

// Follows the last step of an epoch. Also called once if a resumed run begins between epochs, as
// the accuracy may be missing.
static status end_epoch(trainer *t, bool *stop, error *err) {
    const experiment *e = t->experiment;
    const uint32_t samples = trained_samples(t->o);
    checkpoint *c = t->c;
    const int epoch = (int)((c->step - 1) / t->steps_per_epoch);
    bool done = true, over = false;
    if (t->lead && t->o->test && isnan(c->accuracy[epoch])) {
        status rc = measure(t, epoch, &done, err);
        if (rc != STATUS_OK) return rc;
    }
    if (t->lead && c->losses && !validates(t))
        c->losses[epoch] = trainer_epoch_loss(c, e, samples, epoch);
    if (t->lead && done) {
        checkpoint_keep_best(c, epoch);
        over = early_stopping_is_due(&e->early_stopping, c->accuracy, epoch + 1);
    }
    if (t->lead && done && c->step > t->progress.first_step) {
        const epoch_figures figures = {trainer_epoch_loss(c, e, samples, epoch), c->accuracy[epoch],
                                       trainer_epoch_seconds(c, e, samples, epoch), validates(t)};
        training_progress_epoch(&t->progress, clock_now(), epoch, &figures);
    }
    if (done) t->tested = epoch + 1;
    show_watcher(t);
    *stop |= !done || signals_pending();
    status rc = agree_on_epoch(t, epoch, stop, &over, err);
    if (rc == STATUS_OK && over) end_early(t, epoch + 1);
    return rc;
}

// Records the part of an epoch that this run has done, with evaluation and saving. Epochs count
// from 1.
static void trace_epoch(trainer *t) {
    if (t->mark == t->epoch_began) return;
    trace_operation(t->track, "epoch", (int64_t)((t->c->step - 1) / t->steps_per_epoch + 1),
                    t->epoch_began, t->mark);
    t->epoch_began = t->mark;
}

static bool is_end_of_epoch(const trainer *t) {
    const uint64_t step = t->c->step;
    return step > 0 && (step % t->steps_per_epoch == 0 || step == t->total);
}

static status run(trainer *t, trainer_end *end, error *err) {
    const trainer_options *o = t->o;
    checkpoint *c = t->c;
    bool stop = false, agreed[REQUESTS];
    if (is_end_of_epoch(t)) NEED(end_epoch(t, &stop, err));
    t->mark = t->epoch_began = clock_now();
    while (!stop && c->step < t->total) {
        if (o->stop_after_steps && c->step >= o->stop_after_steps) break;
        NEED(train_step(t, agreed, err));
        stop = agreed[REQUEST_STOP];
        if (average_is_due(&t->experiment->average, c->step, t->total)) NEED(take_average(t, err));
        const bool whole_epoch = is_end_of_epoch(t);
        const bool keeping = kept_states_is_due(o->keep_states, c->step, t->total);
        const bool saving = stop || whole_epoch || keeping || agreed[REQUEST_CHECKPOINT] ||
                            c->step == o->stop_after_steps ||
                            (o->checkpoint_steps && c->step % o->checkpoint_steps == 0);
        if (saving) NEED(collect(t, err));
        if (saving) NEED(check_tensors(t, err));
        if (whole_epoch) NEED(end_epoch(t, &stop, err));
        if (saving) NEED(save(t, keeping, err));
        if (whole_epoch) trace_epoch(t);
    }
    trace_epoch(t);
    bool paused = o->stop_after_steps && c->step >= o->stop_after_steps;
    *end = stop ? TRAINER_SIGNALLED : paused ? TRAINER_PAUSED : TRAINER_FINISHED;
    return STATUS_OK;
}

// ---- Turns ----

// A training that ends within its turns begins again: its later steps would be those of another
// learning rate. The loader goes on with the order of later epochs, and averaged weights with the
// last ones, which were read into the checkpoint.
static void begin_again(trainer *t) {
    checkpoint *c = t->c;
    c->step = c->timeline.steps = 0;
    t->o->strategy->write(t->executor, c->parameters, c->buffers, c->optimizer);
    t->mark = clock_now();
}

static status take_turn(trainer *t, uint64_t steps, error *err) {
    uint32_t count = 0, samples = 0;
    uint64_t since = t->mark = clock_now();
    bool agreed[REQUESTS];
    for (uint64_t i = 1; i <= steps; i++) {
        NEED(train_step(t, agreed, err));
        if (average_is_due(&t->experiment->average, t->c->step, t->total))
            NEED(take_average(t, err));
        const bool over = t->c->step == t->total;
        if (over || i == steps) NEED(collect(t, err));
        count++;
        samples += (uint32_t)batch_samples(&t->batch);
        if (t->unsettled) continue;
        turn_taker_record(t->o->turns, count, samples, t->mark - since);
        if (over) begin_again(t);
        since = t->mark;
        count = samples = 0;
    }
    return STATUS_OK;
}

// Every rank is sent the same turns.
static status take_turns(trainer *t, trainer_end *end, error *err) {
    turn_taker *turns = t->o->turns;
    loader_rest(t->loader);
    NEED(turn_taker_join(turns, err));
    for (;;) {
        uint64_t steps;
        NEED(turn_taker_wait(turns, &steps, err));
        if (!steps) break;
        loader_go(t->loader);
        NEED(t->comm->ops->barrier(t->comm, err)); // all ranks are awake
        NEED(take_turn(t, steps, err));
        loader_rest(t->loader);
        turn_taker_pass(turns);
    }
    *end = TRAINER_TIMED;
    return STATUS_OK;
}

// ---- Beginning and end ----

// The host blends images for mixup, and changes their colours.
static bool keeps_images(const trainer *t) {
    const experiment *e = t->experiment;
    return t->o->executor.backend->keeps_data && e->mixup_alpha == 0 &&
           !augment_needs_host(&e->augment);
}

// Notes where GPUs find the data set's images: without room for them on the device, or if the host
// changes them, every step sends its own.
static void note_images(const trainer *t, yaml_node *segment) {
    const trainer_options *o = t->o;
    if (!o->executor.backend->keeps_data) return;
    const bool kept = keeps_images(t);
    const bool here = kept && o->strategy->engines(t->executor).has_images;
    if (kept && !here && t->lead)
        log_info(o->log, "the data set takes more than half of the GPU's free memory: each step "
                         "transfers its images");
    yaml_put(segment, "images", yaml_new_string(here ? "device" : "host"));
}

static void begin_segment(trainer *t) {
    const engine_description engines = t->o->strategy->engines(t->executor);
    yaml_node *segment = yaml_copy(t->o->segment);
    yaml_append(t->c->execution, segment);
    yaml_put(segment, "isa", yaml_new_string(engines.isa));
    yaml_put(segment, "memory", yaml_new_integer((int64_t)engines.memory));
    note_images(t, segment);
    yaml_put(segment, "first_step", yaml_new_integer((int64_t)t->c->step));
    yaml_put(segment, "end_step", yaml_new_integer((int64_t)t->c->step));
}

// If engines keep the data set, they also augment: a batch then only lists its samples.
static status open_trainer(trainer *t, error *err) {
    const trainer_options *o = t->o;
    const experiment *e = t->experiment;
    const bool kept = keeps_images(t);
    executor_options working = o->executor;
    loader_options loading = {.data = o->train,
                              .sampler = &t->sampler,
                              .workers = o->loader_workers,
                              .first_step = t->c->step,
                              .end_step = o->turns ? UINT64_MAX : t->total,
                              .augment = kept ? NULL : o->executor.augment,
                              .mixup = e->mixup_alpha,
                              .trace = o->executor.trace};
    working.data = kept ? o->train : NULL;
    NEED(check_same_run(t, err));
    NEED(partition_init(&t->partition, o->train, o->left_out, e->virtual_shards, e->shard_seed,
                        err));
    NEED(sampler_init(&t->sampler, &t->partition, e->global_batch, e->seed, err));
    if (e->drop_last) NEED(sampler_drop_last(&t->sampler, err));
    NEED(o->strategy->open(&working, &t->executor, err));
    o->strategy->shards(t->executor, &loading.first_shard, &loading.end_shard);
    o->strategy->write(t->executor, t->c->parameters, t->c->buffers, t->c->optimizer);
    NEED(loader_new(&loading, &t->loader, err));
    if (t->lead && o->test) {
        t->logits = memory_try_new((size_t)o->test->samples * (size_t)o->test->classes,
                                   sizeof *t->logits, err);
        if (!t->logits) return STATUS_FAILED;
    }
    begin_segment(t);
    (void)o->strategy->times(t->executor);
    return STATUS_OK;
}

// If the run continues one that ended within an epoch, that epoch's accuracy is still to come.
static void forget_shorter_epoch(trainer *t) {
    if (!is_end_of_epoch(t)) t->c->accuracy[t->c->step / t->steps_per_epoch] = NAN;
}

status trainer_run(const trainer_options *o, checkpoint *c, trainer_end *end, error *err) {
    const experiment *e = o->executor.experiment;
    trainer t = {.o = o,
                 .experiment = e,
                 .c = c,
                 .comm = o->executor.comm,
                 .lead = o->executor.comm->rank == 0,
                 .track = trace_first(o->executor.trace),
                 .steps_per_epoch = trainer_steps_per_epoch(e, trained_samples(o)),
                 .began = clock_now(),
                 .before = c->total_ns,
                 .averaged = c->step};
    status rc;
    t.total = trainer_steps(e, trained_samples(o));
    t.saved = t.began;
    forget_shorter_epoch(&t);
    TRY(open_trainer(&t, err));
    TRY(t.comm->ops->barrier(t.comm, err)); // a rank that failed to open has ended by now
    if (t.lead && o->ready) TRY(o->ready(o->ready_argument, err));
    training_progress_begin(&t.progress, t.lead && !o->turns ? o->log : NULL, clock_now(),
                            experiment_epochs(e, t.steps_per_epoch), t.steps_per_epoch, t.total,
                            c->step);
    run_segment_count(&t.machine);
    thread_number_init(&t.threads, o->executor.threads, o->threads_follow);
    t.judged = t.machine.clock;
    t.waited = t.machine.waited;
    TRY(o->turns ? take_turns(&t, end, err) : run(&t, end, err));
    if (t.lead) c->total_ns = t.before + clock_now() - t.began;
    if (o->strategy->leave) TRY(o->strategy->leave(t.executor, err));
out:
    training_progress_end(&t.progress);
    loader_free(t.loader);
    o->strategy->close(t.executor);
    sampler_release(&t.sampler);
    partition_release(&t.partition);
    free(t.logits);
    return rc;
}
