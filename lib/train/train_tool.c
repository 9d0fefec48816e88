// SPDX-License-Identifier: MIT
#include "train/train_tool.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/output_folder.h"
#include "base/signals.h"
#include "dist/launch_join.h"
#include "experiment/lookup.h"
#include "train/kept_states.h"
#include "train/print_plan.h"
#include "train/train_manifest.h"
#include "train/train_run.h"
#include "train/train_start.h"
#include "train/trainer_lengths.h"

enum { OPTIONS = 28 };

typedef struct train_tool {
    const strategy *strategy;
    char name[32]; // "train-ddp"
    cli_tool cli;
    cli_option options[OPTIONS];

    // The command line.
    const char *experiment, *train, *test, *out;
    cli_list set, init_except;
    const char *device, *math, *reduce, *init, *checkpoint_every, *trace, *dump_order, *turns;
    const char *tensorboard;
    int64_t threads, loader_workers, world_size, stop_after_steps, max_restarts; // -1: not given
    int64_t keep_states;                                                         // 0: not given
    bool resume, dry_run, print_key, print_parameters, print_plan;
} train_tool;

static const char NOTES[] =
    "Every train tool can run every experiment, and all produce the same\n"
    "model.st.zst, bit for bit. Each writes model.st.zst, steps.st.zst (one value per\n"
    "step), state.st.zst (for --resume) and, last, manifest.yaml. The state is saved\n"
    "at the end of every epoch, at --checkpoint-every, and on SIGINT, SIGTERM and\n"
    "SIGUSR1.\n"
    "\n"
    "--device auto uses the GPUs, at most one per rank, or the CPU if there is no\n"
    "GPU. A list of several devices starts one rank, replica or stage per device; a\n"
    "single device runs all of them. With train-ddp, --world-size may set another\n"
    "number of ranks, which are assigned to the listed devices in turn.\n"
    "\n"
    "train-ddp starts its own ranks, unless --world-size is absent and the\n"
    "environment makes it one rank of a group: by RANK, WORLD_SIZE, MASTER_ADDR and\n"
    "MASTER_PORT (torchrun), or under mpirun or srun, whose ranks communicate by MPI\n"
    "and may run on several hosts. Ranks that connect to an address wait for each\n"
    "other for 60 s, or LOCKSTEP_RENDEZVOUS_SECONDS.\n"
    "\n"
    "Exit codes: 0 done; 1 failed (also if the loss is no longer finite, or there is\n"
    "no GPU); 2 usage; 3 input refused; 5 stopped by SIGTERM or SIGUSR1, state saved.\n"
    "\n"
    "Environment: LOCKSTEP_ISA=v4, v3 or baseline selects the instruction set;\n"
    "LOCKSTEP_CUDA_LIBRARY is the file of the CUDA backend; LOCKSTEP_COMMAND is the\n"
    "command that a stopped run prints for resuming.";

// Fills in the option table and the defaults. `t` must stay where it is.
static void init(train_tool *t, const strategy *s) {
    *t = (train_tool){.strategy = s,
                      .device = "auto",
                      .math = "exact",
                      .reduce = "exact",
                      .threads = -1,
                      .loader_workers = -1,
                      .world_size = -1,
                      .stop_after_steps = -1,
                      .max_restarts = 0};
    snprintf(t->name, sizeof t->name, "train-%s", s->name);
    const cli_option options[] = {
        {"experiment", CLI_STRING, &t->experiment, "FILE",
         "experiment to train: a file, or a name in experiments/", 0, 0},
        {"train", CLI_STRING, &t->train, "FILE|DIR|-",
         "training data: a file, a folder of shards, or standard input", 0, 0},
        {"test", CLI_STRING, &t->test, "FILE", "test data, evaluated after every epoch", 0, 0},
        {"out", CLI_STRING, &t->out, "DIR", "output folder", 0, 0},
        {"set", CLI_LIST, &t->set, "KEY=VALUE", "replace a value in the experiment", 0, 0},
        {"device", CLI_STRING, &t->device, "auto|cpu|cuda|LIST",
         "devices; LIST such as cuda:0,cuda:1 or cpu,cuda:0 is assigned to the ranks in turn", 0,
         0},
        {"math", CLI_STRING, &t->math, "exact|fast",
         "GPUs: exact (default): the bits of the CPU; fast: other orders of sums", 0, 0},
        {"threads", CLI_INTEGER, &t->threads, "N",
         "threads per rank (default: the usable processors divided by the ranks, or fewer while "
         "other programs need them; 1 on a GPU)",
         1, 1024},
        {"loader-workers", CLI_INTEGER, &t->loader_workers, "N",
         "threads that prepare batches (default: from the experiment)", 0, 256},
        {"world-size", CLI_INTEGER, &t->world_size, "W",
         "ranks, replicas or stages (default: from the experiment); ranks and replicas must "
         "divide the virtual shards",
         1, 4096},
        {"reduce", CLI_STRING, &t->reduce, "exact|fast",
         "exact (default): the same bits for every world size; fast: other bits for each", 0, 0},
        {"init", CLI_STRING, &t->init, "MODEL", "start from the weights of this checkpoint", 0, 0},
        {"init-except", CLI_LIST, &t->init_except, "PATTERN",
         "but for these tensors ('fc1.*'), which begin at their initial values", 0, 0},
        {"resume", CLI_FLAG, &t->resume, NULL,
         "resume from the state in --out, if there is one; more epochs than before are allowed", 0,
         0},
        {"dry-run", CLI_FLAG, &t->dry_run, NULL,
         "check everything the run needs, write nothing, and exit", 0, 0},
        {"stop-after-steps", CLI_INTEGER, &t->stop_after_steps, "N",
         "save and stop after N steps of the run", 1, INT64_MAX},
        {"checkpoint-every", CLI_STRING, &t->checkpoint_every, "N|Ns",
         "also save the state every N steps (500) or N seconds (30s)", 0, 0},
        {"turns", CLI_STRING, &t->turns, "ADDRESS",
         "train in turns with others, for `time-runs`, which gives the address; write nothing", 0,
         0},
        {"keep-states", CLI_INTEGER, &t->keep_states, "N",
         "also keep the states between N parts of the run, for replay", 2, KEPT_STATES_MAX},
        {"max-restarts", CLI_INTEGER, &t->max_restarts, "N",
         "when a process dies, restart from the last saved state, at most N times (default 0)", 0,
         1000},
        {"trace", CLI_STRING, &t->trace, "FILE.json",
         "write a timeline of every thread, for Perfetto", 0, 0},
        {"tensorboard", CLI_STRING, &t->tensorboard, "DIR",
         "write the curves while they grow, as an event file for TensorBoard", 0, 0},
        {"dump-order", CLI_STRING, &t->dump_order, "FILE",
         "write the sample ids in training order (U32)", 0, 0},
        {"print-key", CLI_FLAG, &t->print_key, NULL, "print the stage key and exit", 0, 0},
        {"print-parameters", CLI_FLAG, &t->print_parameters, NULL,
         "print the whole resolved experiment and exit", 0, 0},
        {"print-plan", CLI_FLAG, &t->print_plan, NULL,
         "print the operations of a step, as one engine with all shards runs them, and exit", 0, 0},
        {NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0},
    };
    _Static_assert(sizeof options <= sizeof t->options, "OPTIONS is too small");
    memcpy(t->options, options, sizeof options);
    t->cli = (cli_tool){.name = t->name,
                        .usage = "--experiment FILE --train FILE|DIR|- [--test FILE] --out DIR "
                                 "[OPTION]...",
                        .options = t->options,
                        .notes = NOTES,
                        .answer = experiment_answer_option};
}

// ---- The command line ----

static status need(const char *value, const char *option, error *err) {
    if (value) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot start: missing option '--%s'", option);
}

// Checks --device and --math against each other and the strategy; looks for no device yet.
static status read_devices(const train_tool *t, devices *d, error *err) {
    NEED(devices_parse(d, t->device, err));
    if (devices_mixed(d) && !t->strategy->mixes)
        return error_set(err, STATUS_USAGE,
                         "cannot compute: '--device %s': only the ranks of train-ddp can mix the "
                         "cpu and GPUs",
                         t->device);
    return devices_math(d, t->math, err);
}

// The driver of a GPU serves one process at a time: ranks that share one take many times as long as
// replicas or a single process (docs/gpus.md).
static void tell_of_shared_gpu(const train_settings *s) {
    const devices *d = &s->devices;
    const int ranks = world_ranks_here(&s->world);
    for (int first = 0; first < d->count && first < ranks; first++) {
        const listed_device *gpu = &d->list[first];
        int sharing = 0;
        for (int r = first; r < ranks; r++) {
            const listed_device *other = &d->list[r % d->count];
            sharing += other->kind == gpu->kind && other->index == gpu->index;
        }
        if (gpu->kind != DEVICE_CUDA || sharing < 2) continue;
        log_info(s->log,
                 "%d ranks share cuda:%d, which serves one process at a time: train-dp or "
                 "train-single, with the same options, trains the same model in less time",
                 sharing, gpu->index);
        return;
    }
}

// Finds the ranks and their devices. A key distinguishes only arithmetics, so --print-key looks for
// devices only where they decide it.
static status find_ranks(const train_tool *t, const experiment *e, train_settings *s, error *err) {
    const int wanted = t->world_size > 0 ? (int)t->world_size : 0;
    status rc;
    TRY(read_devices(t, &s->devices, err));
    TRY(t->strategy->find_world(e, wanted, s->devices.count, &s->world, err));
    const launch_environment *group = &s->world.environment;
    if (!group->joined && !t->print_key) TRY(launch_check_alone(err));
    if (t->print_key && !devices_undecided(&s->devices)) goto out;
    rc = devices_open(&s->devices, world_ranks_here(&s->world),
                      group->joined && group->rank ? NULL : s->log, err);
    // Other hosts may have devices.
    if (rc != STATUS_OK && !t->print_key) launch_abort(group, s->log, err);
    if (rc == STATUS_OK && t->strategy->processes && !s->reduce_fast && train_settings_lead(s))
        tell_of_shared_gpu(s);
out:
    return rc;
}

// "500": steps; "30s": seconds.
static status parse_checkpoint_every(const char *text, train_settings *s, error *err) {
    char *end;
    if (!text) return STATUS_OK;
    unsigned long long value = strtoull(text, &end, 10);
    bool number = *text >= '1' && *text <= '9' && value < 1000000000;
    if (number && !*end)
        s->checkpoint_steps = value;
    else if (number && strcmp(end, "s") == 0)
        s->checkpoint_ns = value * 1000000000u;
    else
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--checkpoint-every': expected steps (500) or seconds "
                         "(30s), got '%s'",
                         text);
    return STATUS_OK;
}

static status parse_reduce(const char *text, bool *fast, error *err) {
    *fast = strcmp(text, "fast") == 0;
    if (*fast || strcmp(text, "exact") == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "bad option value: '--reduce': expected exact or fast, got '%s'", text);
}

// The command that was typed, if another program started this one on its behalf.
static const char *typed_command(void) {
    const char *command = getenv("LOCKSTEP_COMMAND");
    return command && *command ? command : NULL;
}

static status read_settings(const train_tool *t, const experiment *e, const logger *log,
                            train_settings *s, error *err) {
    *s = (train_settings){
        .tool = t->name,
        .strategy = t->strategy,
        .train = t->train,
        .test = e->validation.samples ? NULL : t->test, // with validation, epochs do not see it
        .out = t->out,
        .init = t->init,
        .init_except = t->init_except,
        .trace = t->trace,
        .tensorboard = t->tensorboard,
        .dump_order = t->dump_order,
        .isa = getenv("LOCKSTEP_ISA"),
        .command = typed_command(),
        .threads = t->threads > 0 ? (int)t->threads : 0,
        .loader_workers = t->loader_workers >= 0 ? (int)t->loader_workers : e->loader_workers,
        .resume = t->resume,
        .dry_run = t->dry_run,
        .stop_after_steps = t->stop_after_steps > 0 ? (uint64_t)t->stop_after_steps : 0,
        .keep_states = (int)t->keep_states,
        .max_restarts = (int)t->max_restarts,
        .log = log,
    };
    NEED(need(t->train, "train", err));
    if (t->init_except.count && !t->init)
        return error_set(err, STATUS_USAGE, "cannot start: '--init-except' needs --init MODEL");
    NEED(parse_reduce(t->reduce, &s->reduce_fast, err));
    NEED(parse_checkpoint_every(t->checkpoint_every, s, err));
    if (t->test && strcmp(t->test, "-") == 0)
        return error_set(err, STATUS_USAGE,
                         "cannot read test data: '-': only --train can be standard input");
    NEED(find_ranks(t, e, s, err));
    s->reduce_fast = s->reduce_fast && t->strategy->reduces && s->world.size > 1;
    if (t->test && !s->test && train_settings_lead(s))
        log_info(log, "test data are not read: epochs are tested on the %d validation samples",
                 e->validation.samples);
    s->world.supervised = s->max_restarts > 0;
    if (s->world.supervised && s->world.environment.joined)
        return error_set(
            err, STATUS_USAGE,
            "cannot restart: '--max-restarts %d': this rank was started by a launcher, "
            "which must restart all ranks with --resume",
            s->max_restarts);
    if (s->world.environment.joined && strcmp(t->train, "-") == 0)
        return error_set(err, STATUS_USAGE,
                         "cannot read training data: '-': ranks started by a launcher cannot share "
                         "standard input; pass a file");
    return train_run_check_files(s, t->experiment, err);
}

// Nothing is written, so nothing can be resumed.
static status read_turns(const train_tool *t, train_settings *s, turn_taker *turns, error *err) {
    if (t->out || t->resume || t->dry_run || t->max_restarts || t->tensorboard)
        return error_set(err, STATUS_USAGE,
                         "cannot take turns: '--turns': it writes nothing; leave out --out, "
                         "--resume, --dry-run, --tensorboard and --max-restarts");
    s->turns = turns;
    return turn_taker_parse(t->turns, turns, err);
}

// ---- Modes ----

// `initial_weights` of the experiment is what --init and --init-except give; --init then says where
// its file lies.
static status take_weights(train_tool *t, const experiment *e, error *err) {
    const yaml_node *except = e->weights_except;
    if (!e->weights_path) return STATUS_OK;
    if (t->init_except.count)
        return error_set(err, STATUS_USAGE,
                         "cannot start: '--init-except': the experiment has 'initial_weights': "
                         "--set 'initial_weights.except=[…]' replaces its patterns");
    if (!t->init) t->init = e->weights_path;
    for (size_t i = 0; except && i < except->count; i++)
        cli_list_add(&t->init_except, except->items[i]->text);
    return STATUS_OK;
}

// *file is what the name of an experiment stands for; free() it.
static status read_experiment(train_tool *t, char **file, experiment *e, error *err) {
    NEED(need(t->experiment, "experiment", err));
    NEED(lookup_word(t->experiment, file, err));
    t->experiment = *file;
    NEED(experiment_read(e, t->experiment, t->set.items, t->set.count, err));
    return take_weights(t, e, err);
}

static status print_parameters(const experiment *e, FILE *answers, error *err) {
    yaml_node *tree = yaml_new(YAML_MAPPING);
    char *text = NULL;
    size_t bytes;
    train_manifest_parameters(e, tree);
    status rc = yaml_write_text(tree, &text, &bytes, err);
    if (rc == STATUS_OK) fputs(text, answers);
    free(text);
    yaml_free(tree);
    return rc;
}

static status print_plan(const train_tool *t, const experiment *e, const logger *log, error *err) {
    devices d;
    NEED(read_devices(t, &d, err));
    NEED(devices_open(&d, 1, log, err));
    return print_plan_of(e, &d, err);
}

// Sets *finished if there is nothing left to do.
static status find_finished(const train_settings *s, const experiment *e, bool *finished,
                            error *err) {
    status rc = train_run_finished(s->out, e, finished, err);
    if (rc == STATUS_OK && *finished && train_settings_lead(s))
        log_info(s->log, "'%s' is already complete: nothing to do", s->out);
    return rc;
}

// Makes the folder and locks it.
static status take_folder(const train_settings *s, const experiment *e, output_folder *folder,
                          bool *finished, error *err) {
    *finished = false;
    if (train_settings_lead(s)) NEED(output_folder_open(s->out, s->log, folder, err));
    if (s->resume) NEED(find_finished(s, e, finished, err));
    return STATUS_OK;
}

// Makes the checks of `train`, in its order, without changing the disk. Joined ranks need not
// connect for it. A folder that another process has locked is accepted.
static status check(const train_tool *t, const train_settings *s, const experiment *e, manifest *m,
                    error *err) {
    train_run run = {0};
    bool finished = false;
    status rc;
    TRY(need(t->out, "out", err));
    TRY(output_check_folder(s->out, s->log, err));
    if (s->resume) TRY(find_finished(s, e, &finished, err));
    if (finished) goto out;
    TRY(train_run_init(&run, s, e, m, err));
    if (train_settings_lead(s))
        log_info(s->log, "dry run: ready to train %.9g epoch%s of %" PRIu64 " steps", e->epochs,
                 e->epochs == 1 ? "" : "s",
                 trainer_steps_per_epoch(e, train_data_samples(&run.data)));
out:
    train_run_release(&run);
    return rc;
}

static status print_key(const train_settings *s, const experiment *e, manifest *m, FILE *answers,
                        error *err) {
    status rc = train_run_describe(s, e, m, err);
    if (rc == STATUS_OK) train_manifest_backend(m, devices_arithmetic(&s->devices));
    if (rc == STATUS_OK && s->reduce_fast) train_manifest_reduce(m, "fast", s->world.size);
    return rc == STATUS_OK ? manifest_print_key(m, answers, err) : rc;
}

// Says which keys nothing reads, unless the program that started this one does. Pipelines are cut
// whatever strategy the experiment names.
static void warn_of_idle(const train_settings *s, const experiment *e) {
    if (s->command || s->turns || !train_settings_lead(s)) return;
    // Any tool may train an experiment: only what ranks would not read either.
    yaml_node *idle = experiment_idle(e, s->strategy == &strategy_mp ? STRATEGY_MP : STRATEGY_DDP);
    for (size_t i = 0; i < idle->count; i++) log_warn(s->log, "%s", idle->items[i]->text);
    yaml_free(idle);
}

static status train(const train_tool *t, const train_settings *s, const experiment *e, manifest *m,
                    error *err) {
    train_run run = {0};
    output_folder folder = {0};
    bool finished = false;
    status rc = STATUS_OK;
    if (!s->turns) TRY(need(t->out, "out", err));
    if (!s->turns) TRY(take_folder(s, e, &folder, &finished, err));
    if (finished) goto out;
    signals_watch();
    TRY(train_run_init(&run, s, e, m, err));
    TRY(train_run_go(&run, err));
out:
    if (!run.launched && rc != STATUS_USAGE) launch_abort(&s->world.environment, s->log, err);
    train_run_release(&run);
    output_folder_close(&folder, rc);
    return rc;
}

static status run(train_tool *t, int argc, char **argv, FILE *answers, error *err) {
    logger log = {t->name, LOG_NORMAL};
    cli_list operands = {0};
    experiment e = {0};
    char *file = NULL;
    manifest m = {0};
    turn_taker turns = {0};
    train_settings settings;
    bool done = false;
    status rc;
    TRY(cli_parse(&t->cli, argc, argv, &log, &operands, &done, err));
    if (done) goto out;
    TRY(read_experiment(t, &file, &e, err));
    if (t->print_parameters) {
        TRY(read_devices(t, &settings.devices, err));
        rc = print_parameters(&e, answers, err);
        goto out;
    }
    if (t->print_plan) {
        rc = print_plan(t, &e, &log, err);
        goto out;
    }
    if (t->print_key) log.level = LOG_QUIET;
    TRY(read_settings(t, &e, &log, &settings, err));
    if (t->turns) TRY(read_turns(t, &settings, &turns, err));
    settings.argc = argc;
    settings.argv = argv;
    TRY(manifest_begin(&m, t->name, TRAIN_BITS, argc, argv, err));
    if (!t->print_key) warn_of_idle(&settings, &e);
    if (t->print_key)
        rc = print_key(&settings, &e, &m, answers, err);
    else if (t->dry_run)
        rc = check(t, &settings, &e, &m, err);
    else
        rc = train(t, &settings, &e, &m, err);
out:
    manifest_release(&m);
    experiment_release(&e);
    free(file);
    cli_list_release(&operands);
    cli_list_release(&t->set);
    cli_list_release(&t->init_except);
    return rc;
}

status train_tool_run(const strategy *s, int argc, char **argv, FILE *answers, error *err) {
    train_tool t;
    init(&t, s);
    return run(&t, argc, argv, answers, err);
}

int train_tool_main(const strategy *s, int argc, char **argv) {
    train_tool t;
    error err = {0};
    init(&t, s);
    status rc = run(&t, argc, argv, stdout, &err);
    int code = cli_finish(&t.cli, rc, &err);
    if (code == STATUS_STOPPED && signals_pending() == SIGINT) signals_end_process(SIGINT);
    return code;
}
