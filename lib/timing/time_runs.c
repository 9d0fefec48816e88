// SPDX-License-Identifier: MIT
#include "timing/time_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/demand.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/signals.h"
#include "dist/endpoint.h"
#include "timing/machine.h"

// A turn is short, so that its neighbours meet the same machine, and long against what a change of
// arms costs. For one thread, that is two steps with cold caches. Of several, the kernel may wake
// two on one core, and takes some tenths of a second to spread them. The results of a GPU come
// together. docs/performance.md has the measurements. Beside other programs a quiet moment may be
// too short for such turns; that shorter ones measure alike is not shown yet.
static const double turn_seconds = 0.05, gpu_turn_seconds = 0.25, threads_turn_seconds = 0.5,
                    beside_others_seconds = 0.1;
enum { TURN_LEAST = 4, ROUNDS_LEAST = 5, ROUNDS_MOST = 50, EXECUTIONS_LEAST = 3 };

typedef struct session {
    const time_options *o;
    timing *t;
    manifest *m;
    uint64_t *steps; // of a turn of each arm
    double *pace;    // seconds a step of each
    bool *apart;     // the results of its steps come one by one
    uint32_t rounds, execution;
    turn_load *loads;     // of the arms
    bool unlike;          // they load the machine unlike: a quiet machine is waited for
    bool disturbed;       // it was not quiet at times
    uint32_t quiet;       // the demand of other programs at which it is
    double patience;      // seconds to wait for it, before a round
    turn_step *room;      // for a turn
    yaml_node *trainings; // what the arms' ranks said of them; NULL before the first execution
    uint64_t began;       // clock
    double longest;       // seconds of an execution
    int listener, endpoint;
    progress shown;
} session;

// ---- Starting the arms ----

// A number that no other program of this user listens at.
static status listen_somewhere(session *s, error *err) {
    enum { ATTEMPTS = 3, LAST = 65535 };
    status rc = STATUS_FAILED;
    for (int i = 0; i < ATTEMPTS && rc == STATUS_FAILED; i++) {
        s->endpoint = 1 + (getpid() + i) % LAST;
        rc = endpoint_listen(s->endpoint, &s->listener, err);
    }
    return rc;
}

static bool all_ready(const timing *t) {
    for (size_t a = 0; a < t->count; a++)
        if (!arm_is_ready(&t->arms[a])) return false;
    return true;
}

// Takes in the ranks as they connect, however long they read their data.
static status await_arms(session *s, error *err) {
    enum { LOOK_NS = 100000000 };
    while (!all_ready(s->t)) {
        struct pollfd at = {.fd = s->listener, .events = POLLIN};
        int connection = -1;
        bool ready;
        status rc = endpoint_wait(&at, 1, clock_now() + LOOK_NS, &ready, err);
        if (rc == STATUS_OK && ready) rc = endpoint_accept(s->listener, &connection, err);
        if (rc == STATUS_OK && connection >= 0)
            rc = arm_admit(s->t->arms, s->t->count, connection, err);
        for (size_t a = 0; rc == STATUS_OK && a < s->t->count; a++)
            rc = arm_check(&s->t->arms[a], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Each execution starts them from another one on: the first to start gets the better memory, and is
// some thousandths faster.
static status start_arms(session *s, error *err) {
    const size_t count = s->t->count;
    NEED(listen_somewhere(s, err));
    for (size_t i = 0; i < count; i++)
        NEED(arm_start(&s->t->arms[(s->execution + i) % count], s->endpoint, err));
    return await_arms(s, err);
}

static void end_arms(session *s) {
    for (size_t a = 0; a < s->t->count; a++) arm_dismiss(&s->t->arms[a]);
    for (size_t a = 0; a < s->t->count; a++) arm_end(&s->t->arms[a]);
    if (s->listener >= 0) close(s->listener);
    s->listener = -1;
}

// ---- Turns ----

// Before the first turn nobody knows how long a step takes.
static status give_turn(session *s, size_t a, uint64_t steps, uint32_t *entries, error *err) {
    const double patience = s->pace[a] > 0 ? 60 + 20 * (double)steps * s->pace[a] : 600;
    return arm_turn(&s->t->arms[a], steps, patience, s->room, entries, err);
}

static status measure_pace(session *s, size_t a, uint64_t steps, bool *apart, error *err) {
    uint32_t entries;
    uint64_t ns = 0, all = 0;
    status rc = give_turn(s, a, steps, &entries, err);
    for (uint32_t i = 0; rc == STATUS_OK && i < entries; i++) {
        ns += s->room[i].ns;
        all += s->room[i].steps;
    }
    if (rc == STATUS_OK) s->pace[a] = (double)ns / 1e9 / (double)all;
    *apart = entries == all;
    return rc;
}

static uint64_t steps_in(double seconds, double pace) {
    return (uint64_t)fmin(TURN_STEPS, fmax(TURN_LEAST, ceil(seconds / pace)));
}

// In the first execution: how long a step of each arm takes.
static status measure_paces(session *s, error *err) {
    status rc = STATUS_OK;
    for (size_t a = 0; rc == STATUS_OK && a < s->t->count; a++) {
        rc = measure_pace(s, a, TURN_LEAST, &s->apart[a], err);
        if (rc == STATUS_OK)
            rc = measure_pace(s, a, steps_in(2 * turn_seconds, s->pace[a]), &s->apart[a], err);
    }
    return rc;
}

static double turn_of(const session *s, size_t a) {
    if (!s->apart[a]) return gpu_turn_seconds;
    if (s->loads[a].threads * s->loads[a].ranks <= 1) return turn_seconds;
    return s->disturbed ? beside_others_seconds : threads_turn_seconds;
}

// Before each execution: how many steps each arm's turn has, and how many rounds there are.
static void plan_turns(session *s) {
    const double share = fmin(1, 0.01 / s->o->precision);
    double longest = 0;
    for (size_t a = 0; a < s->t->count; a++) {
        s->steps[a] = steps_in(fmax(turn_seconds, share * turn_of(s, a)), s->pace[a]);
        longest = fmax(longest, (double)s->steps[a] * s->pace[a]);
    }
    const double rounds = ROUNDS_MOST * turn_seconds * share / longest;
    s->rounds = (uint32_t)fmin(ROUNDS_MOST, fmax(ROUNDS_LEAST, rounds));
}

// Draws the order of a round (Fisher and Yates).
static void draw_order(const session *s, uint32_t round, uint32_t *order) {
    const random_stream stream = {
        .seed = 1, .purpose = RANDOM_TRIAL, .epoch = s->execution, .sample = round};
    const uint32_t count = (uint32_t)s->t->count;
    for (uint32_t a = 0; a < count; a++) order[a] = a;
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t k = random_below(&stream, left, left), moved = order[k];
        order[k] = order[left - 1];
        order[left - 1] = moved;
    }
}

// ---- A quiet machine ----

// While all arms rest. Where all load the machine alike it does not matter, and takes time.
static uint32_t read_demand(const session *s) {
    size_t count = 0;
    if (!s->unlike) return DEMAND_UNKNOWN;
    for (size_t a = 0; a < s->t->count; a++) count += s->t->arms[a].count;
    pid_t *own = memory_new(count, sizeof *own);
    count = 0;
    for (size_t a = 0; a < s->t->count; a++)
        for (uint32_t r = 0; r < s->t->arms[a].count; r++)
            own[count++] = s->t->arms[a].processes[r];
    const uint32_t demand = demand_of_others(own, count);
    free(own);
    return demand;
}

// Waits until no other program wants a core; less and less patiently if none ever rests. Returns
// the demand then. Rounds beside others still compare arms that load the machine alike.
static status await_quiet(session *s, uint32_t *demand, error *err) {
    static const double longest = 4, shortest = 0.05;
    const uint64_t deadline = clock_now() + (uint64_t)(s->patience * 1e9);
    *demand = read_demand(s);
    if (!s->unlike || *demand == DEMAND_UNKNOWN) return STATUS_OK;
    while (*demand > s->quiet && clock_now() < deadline) {
        enum { LOOK_NS = 5000000 };
        bool ready;
        NEED(endpoint_wait(NULL, 0, clock_now() + LOOK_NS, &ready, err));
        s->disturbed = true;
        *demand = read_demand(s);
    }
    s->patience =
        *demand > s->quiet ? fmax(shortest, s->patience / 2) : fmin(longest, s->patience * 2);
    return STATUS_OK;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

// A round with `recorded` false only warms up: the first steps of a process touch new memory.
static status give_round(session *s, uint32_t round, bool recorded, uint32_t *order, error *err) {
    uint32_t before = DEMAND_UNKNOWN;
    draw_order(s, round, order);
    if (recorded) NEED(await_quiet(s, &before, err));
    for (size_t i = 0; i < s->t->count; i++) {
        turn t = {.execution = s->execution, .round = round, .arm = order[i]};
        NEED(give_turn(s, t.arm, s->steps[t.arm], &t.entries, err));
        if (recorded) turn_log_add(&s->t->log, &t, s->room);
    }
    if (recorded) turn_log_demand(&s->t->log, s->t->count, larger(before, read_demand(s)));
    return STATUS_OK;
}

// How soon the intervals are narrow nobody knows; the fewest executions may take longer than the
// limit. As a part of a larger job at a terminal, whoever started it has announced it.
static void announce(const session *s) {
    char most[DURATION_TEXT_BYTES];
    double seconds = 0;
    if (progress_is_part()) return;
    for (size_t a = 0; a < s->t->count; a++)
        seconds += (double)s->steps[a] * s->pace[a] * s->rounds;
    const double longest = fmax(s->o->limit, EXECUTIONS_LEAST * seconds);
    log_info(s->o->log, "%zu arms to ±%.3g %%: at most %s", s->t->count, 100 * s->o->precision,
             duration_text(longest, most));
}

static status run_rounds(session *s, error *err) {
    uint32_t *order = memory_new(s->t->count, sizeof *order);
    status rc = give_round(s, s->rounds, false, order, err);
    for (uint32_t r = 0; rc == STATUS_OK && r < s->rounds; r++) {
        rc = give_round(s, r, true, order, err);
        progress_show(&s->shown, (clock_now() - s->began) / 1000000000,
                      (uint64_t)fmax(1, s->o->limit));
    }
    free(order);
    return rc;
}

// ---- The files ----

static void path_of(const session *s, const char *name, char **path) {
    *path = memory_format("%s/%s", s->o->out, name);
}

// What must agree for turns to count together: the training, the build and the machine. The memory
// that a GPU spares may differ.
static void describe_arm(const arm *a, yaml_node *list) {
    static const char *const said[][2] = {{"key", "key"},         {"tool", "tool"},
                                          {"version", "version"}, {"sources", "run.sources"},
                                          {"host", "run.host"},   {"cpu", "run.cpu"},
                                          {"inputs", "inputs"},   {"execution", "run.execution"}};
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_put(item, "command", yaml_new_string(a->command));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const yaml_node *found = yaml_get(a->manifest, said[i][1]);
        yaml_node *copy = found ? yaml_copy(found) : NULL;
        if (copy && copy->kind == YAML_MAPPING) yaml_remove(copy, "memory");
        if (found) yaml_put(item, said[i][0], copy);
    }
    yaml_append(list, item);
}

static yaml_node *describe_arms(const session *s) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) describe_arm(&s->t->arms[a], list);
    return list;
}

static bool is_unchanged(const session *s, const yaml_node *now, size_t a) {
    const yaml_node *one = now->items[a];
    return strcmp(yaml_text_at(one, "key"), s->t->arms[a].key) == 0 &&
           (!s->trainings || yaml_equal(one, s->trainings->items[a]));
}

static void read_loads(session *s) {
    for (size_t a = 0; a < s->t->count; a++)
        s->loads[a] = turn_load_read(yaml_get(s->trainings->items[a], "execution"));
    s->unlike = turn_loads_differ(s->loads, s->t->count);
    s->quiet = turn_quiet_demand(s->loads, s->t->count, cores_usable());
}

// The arms are started anew for every execution; their programs and data may have been replaced.
static status check_arms(session *s, error *err) {
    yaml_node *now = describe_arms(s);
    status rc = STATUS_OK;
    for (size_t a = 0; rc == STATUS_OK && a < s->t->count; a++)
        if (!is_unchanged(s, now, a))
            rc = error_set(err, STATUS_FAILED,
                           "arm %zu changed: its program, experiment or data was replaced: '%s'",
                           a + 1, s->t->arms[a].command);
    if (rc == STATUS_OK && !s->trainings) {
        s->trainings = now;
        read_loads(s);
    } else {
        yaml_free(now);
    }
    return rc;
}

static const char TRAININGS[] = "trainings", SOURCES[] = "sources"; // metadata

// Takes the turns of an earlier call, if they are of the same arms.
static status read_earlier(session *s, error *err) {
    const char *sources = yaml_text_at(manifest_run(s->m), SOURCES);
    tensor_file f = {0};
    char *path = NULL, *trainings = NULL;
    size_t bytes;
    status rc = STATUS_OK;
    path_of(s, TURNS_FILE, &path);
    if (access(path, F_OK)) goto out;
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err));
    TRY(yaml_write_text(s->trainings, &trainings, &bytes, err));
    const char *with = tensor_file_metadata(&f, SOURCES);
    const char *of = tensor_file_metadata(&f, TRAININGS);
    if (!with || !of || strcmp(with, sources) != 0 || strcmp(of, trainings) != 0) {
        log_info(s->o->log, "begins anew: '%s' has turns of other trainings or builds", path);
        goto out;
    }
    TRY(turn_log_load(&s->t->log, s->t->count, &f, path, err));
    s->execution = (uint32_t)s->t->log.execution_count;
    log_info(s->o->log, "continues after execution %" PRIu32 " of '%s'", s->execution, s->o->out);
out:
    tensor_file_release(&f);
    free(trainings);
    free(path);
    return rc;
}

// A manifest of earlier turns no longer describes them.
static status save_turns(session *s, tensor_file *f, error *err) {
    char *path = NULL, *trainings = NULL;
    size_t bytes;
    status rc;
    path_of(s, TURNS_FILE, &path);
    TRY(yaml_write_text(s->trainings, &trainings, &bytes, err));
    turn_log_store(&s->t->log, f);
    tensor_file_add_metadata(f, SOURCES, yaml_text_at(manifest_run(s->m), SOURCES));
    tensor_file_add_metadata(f, TRAININGS, trainings);
    TRY(manifest_remove_old(s->m, s->o->out, err));
    TRY(tensor_file_write(path, f, err));
out:
    free(trainings);
    free(path);
    return rc;
}

static void write_results(session *s) {
    const turn_fit *shown = turn_evidence_shown(&s->t->evidence);
    yaml_node *results = manifest_results(s->m), *list = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) {
        const estimate e = turn_fit_seconds(shown, a);
        yaml_append(list, yaml_new_number(e.value));
    }
    yaml_put(results, "executions", yaml_new_integer((int64_t)s->t->evidence.all.executions));
    const size_t quiet = s->t->evidence.quiet.executions;
    if (s->unlike) yaml_put(results, "quiet_executions", yaml_new_integer((int64_t)quiet));
    if (s->unlike && quiet < EXECUTIONS_LEAST) yaml_put(results, "lacks", yaml_new_string("quiet"));
    if (!isnan(s->t->widest)) yaml_put(results, "precision", yaml_new_number(s->t->widest));
    yaml_put(results, "seconds_per_sample", list);
}

// What the key of the folder is made of: on another machine, with another build, or for a narrower
// interval, the stage is stale.
static void put_parameters(session *s) {
    static const char *const machine[] = {"host", "cpu", "cores", "sources"};
    yaml_node *p = manifest_parameters(s->m), *keys = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) yaml_append(keys, yaml_new_string(s->t->arms[a].key));
    yaml_put(p, "arms", keys);
    yaml_put(p, "precision", yaml_new_number(s->o->precision));
    yaml_put(p, "limit", yaml_new_number(s->o->limit));
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        yaml_put(p, machine[i], yaml_copy(yaml_find(manifest_run(s->m), machine[i])));
}

static status write_manifest(session *s, const tensor_file *f, error *err) {
    char *turns = NULL;
    path_of(s, TURNS_FILE, &turns);
    const manifest_file file = {turns, f->file_bytes, f->sha256, f->content};
    manifest_add_output(s->m, &file);
    yaml_put(manifest_run(s->m), "arms", yaml_copy(s->trainings));
    if (s->unlike) yaml_put(manifest_run(s->m), "quiet", yaml_new_integer(s->quiet));
    write_results(s);
    const status rc = manifest_write_in(s->m, s->o->out, err);
    free(turns);
    return rc;
}

// ---- Executions ----

static void fit(session *s) {
    timing *t = s->t;
    turn_evidence_release(&t->evidence);
    turn_evidence_make(&t->log, s->loads, t->count, s->quiet, &t->evidence);
    t->settled = turn_evidence_settles(&t->evidence, s->o->precision, &t->widest);
}

static bool is_enough(const session *s) {
    const double passed = (double)(clock_now() - s->began) / 1e9;
    if (s->t->evidence.all.executions < EXECUTIONS_LEAST) return false;
    return s->t->settled || passed + s->longest > s->o->limit;
}

// Of the first execution: the arms are there, and the turns begin.
static status begin_turns(session *s, bool *enough, error *err) {
    if (s->o->out) NEED(read_earlier(s, err));
    if (s->execution) fit(s);
    *enough = is_enough(s);
    if (*enough) return STATUS_OK;
    NEED(measure_paces(s, err));
    plan_turns(s);
    announce(s);
    return STATUS_OK;
}

// *enough: nothing was left to do.
static status run_execution(session *s, bool *enough, error *err) {
    machine_moment begin, end;
    status rc;
    machine_note(&begin);
    rc = start_arms(s, err);
    if (rc == STATUS_OK) rc = check_arms(s, err);
    if (rc == STATUS_OK && !s->rounds) rc = begin_turns(s, enough, err);
    if (rc == STATUS_OK && !*enough) plan_turns(s);
    if (rc == STATUS_OK && !*enough) rc = run_rounds(s, err);
    end_arms(s);
    if (rc != STATUS_OK || *enough) return rc;
    machine_note(&end);
    s->longest = fmax(s->longest, (double)(end.clock - begin.clock) / 1e9);
    s->execution++;
    turn_log_end(&s->t->log, machine_others(&begin, &end));
    fit(s);
    *enough = is_enough(s);
    return rc;
}

// Saves what there is, and the manifest if it is enough.
static status save(session *s, bool enough, error *err) {
    tensor_file f = {0};
    status rc = STATUS_OK;
    if (!s->o->out) return rc;
    rc = save_turns(s, &f, err);
    if (rc == STATUS_OK && enough) rc = write_manifest(s, &f, err);
    tensor_file_release(&f);
    return rc;
}

static status run_executions(session *s, error *err) {
    bool enough = false;
    status rc = STATUS_OK;
    while (rc == STATUS_OK && !enough) {
        rc = run_execution(s, &enough, err);
        if (rc == STATUS_OK) rc = save(s, enough, err);
    }
    return rc;
}

static status open_session(session *s, error *err) {
    const time_options *o = s->o;
    timing *t = s->t;
    *t = (timing){.count = o->count, .arms = memory_new(o->count, sizeof *t->arms)};
    s->steps = memory_new(o->count, sizeof *s->steps);
    s->pace = memory_new(o->count, sizeof *s->pace);
    s->apart = memory_new(o->count, sizeof *s->apart);
    s->loads = memory_new(o->count, sizeof *s->loads);
    s->room = memory_new(TURN_STEPS, sizeof *s->room);
    for (size_t a = 0; a < o->count; a++)
        t->arms[a] = (arm){.command = o->commands[a], .number = (uint32_t)a};
    status rc = arms_find_tools(err);
    for (size_t a = 0; rc == STATUS_OK && a < o->count; a++) rc = arm_read_key(&t->arms[a], err);
    if (rc == STATUS_OK) {
        put_parameters(s);
        return STATUS_OK;
    }
    return rc;
}

static void close_session(session *s) {
    end_arms(s);
    yaml_free(s->trainings);
    free(s->room);
    free(s->loads);
    free(s->apart);
    free(s->pace);
    free(s->steps);
}

static status say_stopped(const session *s, error *err) {
    if (!s->execution) return error_set(err, STATUS_STOPPED, "stopped before an execution ended");
    return error_set(err, STATUS_STOPPED, "stopped after execution %" PRIu32 "%s", s->execution,
                     s->o->out ? ", which is saved; the same command goes on" : "");
}

status time_runs(const time_options *o, manifest *m, timing *t, error *err) {
    session s = {.o = o, .t = t, .m = m, .began = clock_now(), .listener = -1, .patience = 1};
    status rc = open_session(&s, err);
    if (rc == STATUS_OK) {
        progress_begin(&s.shown, o->log, "timing", "s");
        rc = run_executions(&s, err);
        progress_end(&s.shown);
    }
    if (rc == STATUS_STOPPED) rc = say_stopped(&s, err);
    close_session(&s);
    return rc;
}

status time_runs_key(const time_options *o, manifest *m, error *err) {
    timing t;
    session s = {.o = o, .t = &t, .m = m, .listener = -1};
    status rc = open_session(&s, err);
    if (rc == STATUS_STOPPED) rc = say_stopped(&s, err);
    close_session(&s);
    timing_release(&t);
    return rc == STATUS_OK ? manifest_print_key(m, stdout, err) : rc;
}

void timing_release(timing *t) {
    for (size_t a = 0; t->arms && a < t->count; a++) arm_release(&t->arms[a]);
    free(t->arms);
    turn_log_release(&t->log);
    turn_evidence_release(&t->evidence);
    *t = (timing){0};
}
