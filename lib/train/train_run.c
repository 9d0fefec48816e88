// SPDX-License-Identifier: MIT
#include "train/train_run.h"
#include "train/export/live_events.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/cores.h"
#include "base/memory.h"
#include "base/named_files.h"
#include "base/output.h"
#include "base/shell_words.h"
#include "base/signals.h"
#include "data/recorded.h"
#include "data/sampler.h"
#include "data/shard_files.h"
#include "train/export/live_events.h"
#include "train/kept_states.h"
#include "train/run_segment.h"
#include "train/trace_file.h"
#include "train/train_manifest.h"
#include "train/train_start.h"
#include "train/trainer.h"
#include "train/trainer_lengths.h"

static const char MODEL[] = "model.st.zst", STEPS[] = "steps.st.zst", MANIFEST[] = "manifest.yaml";

// ---- Reading and checking ----

// Refuses shards that do not match, before anything is touched.
static status check_partition(const train_run *r, error *err) {
    const experiment *e = r->experiment;
    partition shards;
    status rc = partition_init(&shards, &r->data.train, &r->data.left_out, e->virtual_shards,
                               e->shard_seed, err);
    if (rc == STATUS_OK) partition_release(&shards);
    return rc;
}

static status check_output_files(const train_settings *s, error *err) {
    status rc = s->trace ? output_check_file(s->trace, err) : STATUS_OK;
    if (rc == STATUS_OK && s->dump_order) rc = output_check_file(s->dump_order, err);
    return rc;
}

// Shared memory, since ranks are processes and all must see the flag.
static status share_flag(train_run *r, error *err) {
    void *at =
        mmap(NULL, sizeof *r->cleared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return error_system(err, STATUS_FAILED, errno, "cannot share memory among ranks");
    r->cleared = at;
    return STATUS_OK;
}

// An experiment with `initial_weights` has their patterns itself.
static void put_parameters(const train_settings *s, const experiment *e, manifest *m) {
    train_manifest_parameters(e, manifest_parameters(m));
    if (!e->weights_path) train_manifest_init_except(m, &s->init_except);
}

status train_run_init(train_run *r, const train_settings *s, const experiment *e, manifest *m,
                      error *err) {
    *r = (train_run){.settings = s, .experiment = e, .manifest = m};
    put_parameters(s, e, m);
    NEED(train_data_read(&r->data, s, e, m, err));
    const uint32_t samples = train_data_samples(&r->data);
    NEED(checkpoint_init(&r->checkpoint, &e->model, e->optimizer.kind, trainer_epochs(e, samples),
                         trainer_steps(e, samples), err));
    if (e->keep == KEEP_BEST) NEED(checkpoint_begin_best(&r->checkpoint, err));
    if (e->schedule.kind == SCHEDULE_PLATEAU) checkpoint_begin_losses(&r->checkpoint);
    NEED(train_start_model(r, err));
    if (e->average.kind != AVERAGING_NONE)
        NEED(checkpoint_begin_average(&r->checkpoint, e->average.kind == AVERAGING_EMA, err));
    NEED(check_partition(r, err));
    NEED(check_output_files(s, err));
    NEED(share_flag(r, err));
    if (!s->turns) NEED(train_start_find(r, err));
    return STATUS_OK;
}

// Describes the inputs in the order in which train_run_init reads them.
status train_run_describe(const train_settings *s, const experiment *e, manifest *m, error *err) {
    put_parameters(s, e, m);
    NEED(recorded_add_input(m, s->train, err));
    if (s->test) NEED(recorded_add_input(m, s->test, err));
    if (s->init) NEED(recorded_add_file(m, s->init, err));
    return STATUS_OK;
}

void train_run_release(train_run *r) {
    train_data_release(&r->data);
    checkpoint_release(&r->checkpoint);
    yaml_free(r->segment);
    free(r->first_weights);
    if (r->cleared) munmap(r->cleared, sizeof *r->cleared);
    memset(r, 0, sizeof *r);
}

// If --train is a folder, it means the shards in it.
static status check_shards(const train_settings *s, const named_file *outputs, size_t count,
                           error *err) {
    char **paths = NULL;
    int shards = 0;
    bool folder;
    status rc = shard_files_is_folder(s->train, &folder, err);
    if (rc == STATUS_OK && folder) rc = shard_files_list(s->train, &paths, &shards, err);
    for (int i = 0; i < shards; i++) {
        const named_file shard = {"--train", paths[i]};
        if (rc == STATUS_OK) rc = named_files_check(&shard, 1, outputs, count, err);
        free(paths[i]);
    }
    free(paths);
    return rc;
}

status train_run_check_files(const train_settings *s, const char *file, error *err) {
    const named_file inputs[] = {
        {"--experiment", file}, {"--train", s->train}, {"--test", s->test}, {"--init", s->init}};
    const char *const own[] = {MODEL, TRAIN_STATE, STEPS, MANIFEST};
    enum { OWN = sizeof own / sizeof *own };
    char *paths[OWN] = {NULL};
    char *events = s->tensorboard ? live_events_path(s->tensorboard) : NULL;
    named_file outputs[OWN + 3];
    status rc = STATUS_OK;
    for (size_t i = 0; i < OWN; i++) {
        if (s->out) paths[i] = train_start_path(s->out, own[i]);
        outputs[i] = (named_file){"--out", paths[i]};
    }
    outputs[OWN] = (named_file){"--trace", s->trace};
    outputs[OWN + 1] = (named_file){"--dump-order", s->dump_order};
    outputs[OWN + 2] = (named_file){"--tensorboard", events};
    TRY(named_files_check(inputs, sizeof inputs / sizeof *inputs, outputs, OWN + 3, err));
    if (s->trace || s->dump_order) rc = check_shards(s, outputs + OWN, 2, err);
out:
    free(events);
    for (size_t i = 0; i < OWN; i++) free(paths[i]);
    return rc;
}

// Writes the sample ids in the order of training, up to the last step that will run.
static status dump_order(const train_run *r, error *err) {
    const train_settings *s = r->settings;
    const experiment *e = r->experiment;
    partition shards = {0};
    sampler order = {0};
    output *out = NULL;
    status rc;
    TRY(partition_init(&shards, &r->data.train, &r->data.left_out, e->virtual_shards, e->shard_seed,
                       err));
    TRY(sampler_init(&order, &shards, e->global_batch, e->seed, err));
    if (e->drop_last) TRY(sampler_drop_last(&order, err));
    TRY(output_open(s->dump_order, &out, err));
    uint64_t per_epoch = sampler_steps_per_epoch(&order), end = experiment_steps(e, per_epoch);
    if (s->stop_after_steps && s->stop_after_steps < end) end = s->stop_after_steps;
    for (uint64_t step = 0; step < end; step++) {
        uint32_t epoch = (uint32_t)(step / per_epoch);
        sampler_begin_epoch(&order, epoch);
        for (int v = 0; v < e->virtual_shards; v++) {
            const uint32_t *samples;
            int count = sampler_step(&order, epoch, step % per_epoch, v, &samples);
            for (int i = 0; i < count; i++)
                TRY(output_write(out, &r->data.train.ids[samples[i]], sizeof(uint32_t), err));
        }
    }
    TRY(output_commit(out, err));
out:
    output_free(out);
    sampler_release(&order);
    partition_release(&shards);
    return rc;
}

// ---- Devices and threads ----

static void describe_segment(train_run *r) {
    const train_settings *s = r->settings;
    yaml_node *segment = yaml_new(YAML_MAPPING);
    r->segment = segment;
    yaml_put(segment, "tool", yaml_new_string(s->tool));
    yaml_put(segment, "strategy", yaml_new_string(s->strategy->name));
    yaml_put(segment, "devices", train_manifest_device_list(&s->devices));
    if (devices_have(&s->devices, DEVICE_CUDA))
        yaml_put(segment, "math", yaml_new_string(s->devices.exact ? "exact" : "fast"));
    yaml_put(segment, "world_size", yaml_new_integer(s->world.size));
    yaml_put(segment, "threads", yaml_new_integer(r->threads));
    yaml_put(segment, "loader_workers", yaml_new_integer(s->loader_workers));
    yaml_put(segment, "reduce", yaml_new_string(s->reduce_fast ? "fast" : "exact"));
}

// ---- Writing ----

static status write_model(train_run *r, tensor_file *f, error *err) {
    const checkpoint *c = &r->checkpoint;
    const char *classes = tensor_file_metadata(&r->data.train.files[0], "classes");
    const float *buffers, *parameters = checkpoint_best_model(c, &buffers);
    char *path = train_start_path(r->settings->out, MODEL);
    status rc = model_file_write(path, c->model, parameters, buffers, &r->data.normalization,
                                 classes, f, err);
    if (rc == STATUS_OK) train_manifest_output(r->manifest, path, f);
    free(path);
    return rc;
}

// Includes the manifest's figures for each epoch and the whole run, so that the manifest can be
// checked against this file.
static status write_steps(train_run *r, error *err) {
    const checkpoint *c = &r->checkpoint;
    char total[32];
    tensor_file f = {0};
    char *path = train_start_path(r->settings->out, STEPS);
    snprintf(total, sizeof total, "%" PRIu64, c->total_ns);
    timeline_store(&c->timeline, "", &f);
    checkpoint_store_epochs(c, &f);
    tensor_file_add_metadata(&f, "total_ns", total);
    const status rc = tensor_file_write(path, &f, err);
    if (rc == STATUS_OK) train_manifest_output(r->manifest, path, &f);
    tensor_file_release(&f);
    free(path);
    return rc;
}

static status write_state(train_run *r, error *err) {
    const run_identity run = train_start_identity(r);
    tensor_file f = {0};
    char *path = train_start_path(r->settings->out, TRAIN_STATE);
    const status rc = checkpoint_write(&r->checkpoint, &run, path, &f, err);
    if (rc == STATUS_OK) train_manifest_output(r->manifest, path, &f);
    tensor_file_release(&f);
    free(path);
    return rc;
}

static status write_outputs(train_run *r, error *err) {
    tensor_file written = {0};
    char *path = train_start_path(r->settings->out, MANIFEST);
    status rc;
    TRY(write_model(r, &written, err));
    TRY(write_steps(r, err));
    TRY(write_state(r, err));
    TRY(kept_states_describe(r->settings->out, r->manifest, err));
    train_manifest_gpu_figures(r->manifest, &r->settings->devices, r->figures);
    train_manifest_results(r->manifest, &r->checkpoint, r->experiment, train_data_samples(&r->data),
                           written.content);
    TRY(manifest_write(r->manifest, path, err));
out:
    free(path);
    tensor_file_release(&written);
    return rc;
}

// The command as it was typed; free() it.
static char *typed_command(const train_settings *s) {
    if (!cli_front()) return shell_join(s->argv, (size_t)s->argc);
    char *front = shell_quote(cli_front());
    char *rest = shell_join(s->argv + 1, (size_t)s->argc - 1);
    char *line = memory_format("%s %s %s", front, s->tool, rest);
    free(rest);
    free(front);
    return line;
}

// The tool's own command with --resume; NULL if it is only a part of the typed command, or too long
// for a message.
static char *resuming_command(const train_settings *s) {
    enum { LONGEST = 1500 };
    if (s->world.environment.joined) return NULL;
    char *line = typed_command(s);
    char *whole =
        strlen(line) < LONGEST ? memory_format("%s%s", line, s->resume ? "" : " --resume") : NULL;
    free(line);
    return whole;
}

// Ranks that were started here cannot tell which signal this process received: stopped_by prepends
// it.
static status stopped(const train_run *r, error *err) {
    const train_settings *s = r->settings;
    char *own = s->command ? NULL : resuming_command(s);
    status rc = STATUS_STOPPED;
    if (s->command)
        error_set(err, rc, "at step %" PRIu64 ", state saved; to resume, run the same command: %s",
                  r->checkpoint.step, s->command);
    else if (own)
        error_set(err, rc, "at step %" PRIu64 ", state saved; to resume: %s", r->checkpoint.step,
                  own);
    else
        error_set(err, rc,
                  "at step %" PRIu64 ", state saved; to resume, run the same command with --resume",
                  r->checkpoint.step);
    free(own);
    return rc;
}

static status stopped_by(error *err) {
    int number = signals_pending();
    if (!number) return error_prefix(err, "stopped by another rank ");
    return error_prefix(err, "stopped by SIG%s ", sigabbrev_np(number));
}

// A rank that takes turns.
typedef struct rank_turns {
    train_run *run;
    turn_taker *turns;
} rank_turns;

// With several GPUs, one process monitors all of them. If monitoring fails, the manifest has no GPU
// figures.
static gpu_monitor *watch_gpus(const train_settings *s) {
    error why = {0};
    gpu_monitor *m = NULL;
    if (s->devices.gpu_count > 1 && devices_watch(&s->devices, &m, &why) != STATUS_OK)
        log_debug(s->log, "GPUs are not monitored: %s", why.message);
    return m;
}

// The manifest so far, for the program that gives the turns.
static status describe_turns(void *argument, error *err) {
    const rank_turns *of = argument;
    yaml_node *root = of->run->manifest->root;
    char key[SHA256_TEXT_BYTES];
    size_t bytes;
    train_manifest_execution(of->run->manifest, &of->run->checkpoint);
    NEED(manifest_key(of->run->manifest, key, err));
    yaml_put(root, "key", yaml_new_string(key));
    return yaml_write_text(root, &of->turns->description, &bytes, err);
}

// What rank 0 does when all are ready: an earlier run's outputs go, and the event file begins.
typedef struct first_step {
    train_run *run;
    live_events *events;
} first_step;

static status begin_outputs(void *argument, error *err) {
    const first_step *f = argument;
    status rc = train_start_clear(f->run, err);
    return rc == STATUS_OK ? live_events_open(f->events, err) : rc;
}

static void follow(void *argument, int epochs) {
    live_events_follow(argument, epochs);
}

// Runs one rank, from its first step to its last.
static status train_rank(void *argument, comm *c, error *err) {
    train_run *r = argument;
    const train_settings *s = r->settings;
    const launch_environment *group = &s->world.environment;
    const bool lead = c->rank == 0;
    const int local_rank = group->joined ? group->local_rank : c->rank;
    trace_file tracing = {0};
    turn_taker taken = s->turns ? *s->turns : (turn_taker){.connection = -1};
    rank_turns arm = {r, &taken};
    live_events events = {.folder = lead ? s->tensorboard : NULL,
                          .experiment = r->experiment,
                          .checkpoint = &r->checkpoint,
                          .samples = train_data_samples(&r->data),
                          .validated = r->data.left_out.count > 0,
                          .log = s->log,
                          .file = -1};
    first_step first = {r, &events};
    trainer_end end;
    gpu_monitor *monitor = lead && !s->turns ? watch_gpus(s) : NULL;
    char *state = s->turns ? NULL : train_start_path(s->out, TRAIN_STATE);
    status rc;
    taken.rank = (uint32_t)c->rank;
    taken.ranks = (uint32_t)c->size;
    TRY(run_segment_describe_hosts(c, &s->devices, local_rank, r->segment, err));
    TRY(trace_file_open(&tracing, s->trace, s->strategy->track, TRACE_FILE_ROOM, c, err));
    const trainer_options options = {
        .strategy = s->strategy,
        .executor = {.backend = devices_backend(&s->devices, local_rank),
                     .devices = &s->devices,
                     .experiment = r->experiment,
                     .normalization = r->data.normalization,
                     .augment = &r->data.augment,
                     .comm = c,
                     .world_size = s->world.size,
                     .local_rank = local_rank,
                     .threads = r->threads,
                     .spin = r->spin,
                     .cores = r->cores,
                     .isa = s->isa,
                     .reduce_fast = s->reduce_fast,
                     .log = lead ? s->log : NULL,
                     .trace = tracing.trace},
        .train = &r->data.train,
        .left_out = &r->data.left_out,
        .test = r->data.left_out.count ? &r->data.left_out.samples
                : s->test              ? &r->data.test
                                       : NULL,
        .loader_workers = s->loader_workers,
        .threads_follow = !s->threads && !s->turns,
        .stop_after_steps = s->stop_after_steps,
        .checkpoint_steps = s->checkpoint_steps,
        .checkpoint_ns = s->checkpoint_ns,
        .run = train_start_identity(r),
        .state_path = state,
        .keep_states = s->keep_states,
        .out = s->out,
        .segment = r->segment,
        .turns = s->turns ? &taken : NULL,
        .log = s->log,
        .ready = s->turns ? describe_turns : begin_outputs,
        .ready_argument = s->turns ? (void *)&arm : &first,
        .watch = follow,
        .watch_argument = &events,
    };
    TRY(trainer_run(&options, &r->checkpoint, &end, err));
    devices_unwatch(&s->devices, monitor, r->figures);
    monitor = NULL;
    TRY(trace_file_write(&tracing, s->tool, s->log, err));
    if (lead && end == TRAINER_PAUSED)
        log_info(s->log, "stopped after step %" PRIu64 ", state saved", r->checkpoint.step);
    if (lead && end == TRAINER_FINISHED) TRY(write_outputs(r, err));
    if (end == TRAINER_SIGNALLED) rc = stopped(r, err);
out:
    devices_unwatch(&s->devices, monitor, NULL);
    live_events_close(&events);
    trace_file_release(&tracing);
    turn_taker_release(&taken);
    free(state);
    return rc;
}

// ---- Restarting after a death ----

// Errors and signals end a run: an error would recur, and a signal is deliberate.
static status launch_until_done(train_run *r, const message_sizes *sizes, error *err) {
    const train_settings *s = r->settings;
    const int64_t before = checkpoint_restarts(&r->checkpoint);
    for (int restarts = 0;; restarts++) {
        launch_death death;
        status rc = s->strategy->launch(&s->world, sizes, train_rank, r, &death, s->log, err);
        if (rc == STATUS_OK || !death.happened || signals_pending()) return rc;
        if (restarts == s->max_restarts)
            return restarts
                       ? error_prefix(err, "after restart %d of %d: ", restarts, s->max_restarts)
                       : rc;
        rc = train_start_again(r, before + restarts + 1, err);
        if (rc != STATUS_OK) return rc;
        log_warn(s->log, "%s; restart %d of %d from step %" PRIu64, death.text, restarts + 1,
                 s->max_restarts, r->checkpoint.step);
    }
}

status train_run_go(train_run *r, error *err) {
    const train_settings *s = r->settings;
    const bool lead = train_settings_lead(s);
    const message_sizes sizes = trainer_message_sizes(r->experiment, s->world.size);
    const int available = cores_usable(), ranks = world_ranks_here(&s->world);
    r->threads = s->threads ? s->threads : available / ranks;
    if (r->threads < 1) r->threads = 1;
    r->threads = devices_threads(&s->devices, r->threads);
    r->spin = r->threads * ranks <= available;
    r->cores = cores_separate() / ranks;
    if (r->cores < 1) r->cores = 1;
    status rc = STATUS_OK;
    train_start_describe(r);
    if (lead && s->dump_order) TRY(dump_order(r, err));
    describe_segment(r);
    train_manifest_gpus(r->manifest, &s->devices);
    r->launched = true;
    rc = launch_until_done(r, &sizes, err);
    if (rc == STATUS_STOPPED) rc = stopped_by(err);
out:
    return rc;
}
