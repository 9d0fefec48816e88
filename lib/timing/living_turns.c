// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/demand.h"
#include "base/memory.h"
#include "dist/endpoint.h"
#include "timing/session.h"

// A turn is short, so that its neighbours meet the same machine, and long against what a change of
// arms costs. For one thread, that is two steps with cold caches. Of several, the kernel may wake
// two on one core, and takes some tenths of a second to spread them. The results of a GPU come
// together. docs/performance.md has the measurements. Beside other programs a quiet moment may be
// too short for such turns; that shorter ones measure alike is not shown yet.
static const double turn_seconds = 0.05, gpu_turn_seconds = 0.25, threads_turn_seconds = 0.5,
                    beside_others_seconds = 0.1;
enum { TURN_LEAST = 4, ROUNDS_LEAST = 5, ROUNDS_MOST = 50 };

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

void living_end(session *s) {
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

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

// A round with `recorded` false only warms up: the first steps of a process touch new memory.
static status give_round(session *s, uint32_t round, bool recorded, uint32_t *order, error *err) {
    uint32_t before = DEMAND_UNKNOWN;
    session_draw_order(s, round, order);
    if (recorded) NEED(session_await_quiet(s, &before, err));
    for (size_t i = 0; i < s->t->count; i++) {
        turn t = {.execution = s->execution, .round = round, .arm = order[i]};
        NEED(give_turn(s, t.arm, s->steps[t.arm], &t.entries, err));
        if (recorded) turn_log_add(&s->t->log, &t, s->room);
    }
    if (recorded) turn_log_demand(&s->t->log, s->t->count, larger(before, session_demand(s)));
    return STATUS_OK;
}

static status run_rounds(session *s, error *err) {
    uint32_t *order = memory_new(s->t->count, sizeof *order);
    status rc = give_round(s, s->rounds, false, order, err);
    for (uint32_t r = 0; rc == STATUS_OK && r < s->rounds; r++) {
        rc = give_round(s, r, true, order, err);
        session_show(s);
    }
    free(order);
    return rc;
}

// ---- An execution ----

static double seconds_of(const session *s) {
    double seconds = 0;
    for (size_t a = 0; a < s->t->count; a++)
        seconds += (double)s->steps[a] * s->pace[a] * s->rounds;
    return seconds;
}

// Of the first execution: the arms are there, and the turns begin.
static status begin_turns(session *s, bool *enough, error *err) {
    if (s->o->out) NEED(session_read_earlier(s, err));
    if (s->execution) session_fit(s);
    *enough = session_is_enough(s);
    if (*enough) return STATUS_OK;
    NEED(measure_paces(s, err));
    plan_turns(s);
    session_announce(s, seconds_of(s));
    return STATUS_OK;
}

status living_execution(session *s, bool *enough, error *err) {
    status rc = start_arms(s, err);
    if (rc == STATUS_OK) rc = session_describe_arms(s, err);
    if (rc == STATUS_OK && !s->rounds) rc = begin_turns(s, enough, err);
    if (rc == STATUS_OK && !*enough) plan_turns(s);
    if (rc == STATUS_OK && !*enough) rc = run_rounds(s, err);
    living_end(s);
    return rc;
}
