// SPDX-License-Identifier: MIT
#include "timing/time_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/random.h"
#include "base/sha256.h"
#include "timing/machine.h"
#include "timing/session.h"

void session_draw_order(const session *s, uint32_t round, uint32_t *order) {
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

// How soon the intervals are narrow nobody knows; the fewest executions may take longer than the
// limit. As a part of a larger job at a terminal, whoever started it has announced it.
void session_announce(const session *s, double seconds) {
    char most[DURATION_TEXT_BYTES];
    if (progress_is_part()) return;
    const double longest = fmax(s->o->limit, EXECUTIONS_LEAST * seconds);
    log_info(s->o->log, "%zu arms to ±%.3g %%: at most %s", s->t->count, 100 * s->o->precision,
             duration_text(longest, most));
}

void session_show(session *s) {
    progress_show(&s->shown, (clock_now() - s->began) / 1000000000, (uint64_t)fmax(1, s->o->limit));
}

// ---- Executions ----

void session_fit(session *s) {
    timing *t = s->t;
    turn_evidence_release(&t->evidence);
    turn_evidence_make(&t->log, s->loads, t->count, s->quiet, &t->evidence);
    t->settled = turn_evidence_settles(&t->evidence, s->o->precision, &t->widest);
}

bool session_is_enough(const session *s) {
    const double passed = (double)(clock_now() - s->began) / 1e9;
    if (s->t->evidence.all.executions < EXECUTIONS_LEAST) return false;
    return s->t->settled || passed + s->longest > s->o->limit;
}

// *enough: nothing is left to do.
static status run_execution(session *s, bool *enough, error *err) {
    machine_moment begin, end;
    machine_note(&begin);
    NEED(s->o->whole ? whole_execution(s, enough, err) : living_execution(s, enough, err));
    if (*enough) return STATUS_OK;
    machine_note(&end);
    s->longest = fmax(s->longest, (double)(end.clock - begin.clock) / 1e9);
    s->execution++;
    turn_log_end(&s->t->log, machine_others(&begin, &end));
    session_fit(s);
    *enough = session_is_enough(s);
    return STATUS_OK;
}

static status run_executions(session *s, error *err) {
    bool enough = false;
    status rc = STATUS_OK;
    while (rc == STATUS_OK && !enough) {
        rc = run_execution(s, &enough, err);
        if (rc == STATUS_OK) rc = session_save(s, enough, err);
    }
    return rc;
}

// The key of a command that is no training is that of its line. A whole training would take the
// last of two folders without a word.
static status read_key(const session *s, arm *a, error *err) {
    if (!s->o->whole) return arm_read_key(a, err);
    if (arm_is_training(a) && (strstr(a->command, " --out ") || strstr(a->command, " --out=")))
        return error_set(err, STATUS_USAGE,
                         "arm %u: its folder is temporary; leave out --out: '%s'",
                         (unsigned)a->number + 1, a->command);
    if (arm_is_training(a)) return arm_read_key(a, err);
    sha256_buffer(a->command, strlen(a->command), a->key);
    return STATUS_OK;
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
    s->by_epochs = true;
    s->unlike = o->whole; // until the first execution has shown how they load the machine
    for (size_t a = 0; a < o->count; a++) {
        t->arms[a] = (arm){.command = o->commands[a], .number = (uint32_t)a};
        s->by_epochs &= !o->whole || arm_is_training(&t->arms[a]);
    }
    t->by_epochs = s->by_epochs;
    NEED(arms_find_tools(err));
    for (size_t a = 0; a < o->count; a++) NEED(read_key(s, &t->arms[a], err));
    session_put_parameters(s);
    return STATUS_OK;
}

static void close_session(session *s) {
    living_end(s);
    whole_end(s);
    yaml_free(s->trainings);
    free(s->room);
    free(s->loads);
    free(s->apart);
    free(s->pace);
    free(s->steps);
}
static status say_stopped(const session *s, error *err) {
    if (!s->execution)
        return error_set(
            err, STATUS_STOPPED,
            "stopped before an execution ended: nothing is kept; the same command begins again");
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
