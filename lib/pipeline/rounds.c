// SPDX-License-Identifier: MIT
#include "pipeline/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number_text.h"
#include "pipeline/counting.h"
#include "pipeline/estimate.h"
#include "pipeline/turns.h"

// ---- The announcement ----

static void say_run(const pipeline *p, const planned_run *r, const run_estimate *e) {
    char what[400], time[DURATION_TEXT_BYTES];
    char *place = memory_format("%s/%s", p->artifacts, r->seeds[0].place);
    const char *plural = r->e.epochs == 1 ? "" : "s";
    duration_text(e->train * e->left, time);
    if (isnan(e->train))
        snprintf(what, sizeof what, "%.9g epoch%s, not measured: %s", r->e.epochs, plural, e->why);
    else
        snprintf(what, sizeof what, "%.9g epoch%s, %s%s", r->e.epochs, plural, time,
                 e->left < 1 ? " left" : "");
    if (e->left > 0) p->say("estimate", place, what);
    free(place);
}

// Estimates the time of all missing executions; for a stopped one, of the rest. *unknown: runs
// without an estimate.
static status estimate_left(const pipeline *p, const planned_runs *runs, const run_estimate *e,
                            int rounds, double *seconds, size_t *unknown, error *err) {
    *seconds = 0;
    *unknown = 0;
    for (size_t i = 0; i < runs->count; i++) {
        int missing;
        status rc = counting_missing_of(p, runs, &runs->items[i], rounds, &missing, err);
        if (rc != STATUS_OK) return rc;
        *unknown += isnan(e[i].train) && missing;
        if (isnan(e[i].train) || !missing) continue;
        const double done = e[i].left > 0 ? 1 - e[i].left : 0;
        *seconds += (e[i].train + e[i].evaluate) * (missing - done);
    }
    return STATUS_OK;
}

static status say_all(const pipeline *p, const planned_runs *runs, const run_estimate *e,
                      int rounds, error *err) {
    char what[200], time[DURATION_TEXT_BYTES], round[DURATION_TEXT_BYTES];
    const double seconds = estimate_round(runs, e);
    double all;
    size_t unknown;
    status rc = estimate_left(p, runs, e, rounds, &all, &unknown, err);
    if (rc != STATUS_OK) return rc;
    duration_text(seconds, round);
    duration_text(all, time);
    int most = 0; // several seeds may reduce the rounds
    for (size_t i = 0; i < runs->count; i++) {
        const int wanted = counting_wanted(&runs->items[i], rounds);
        if (wanted > most) most = wanted;
    }
    if (most > 1) {
        snprintf(what, sizeof what, "%d, each run once per round; %s per round", most,
                 unknown ? "unknown time" : round);
        p->say("estimate", "rounds", what);
    }
    snprintf(what, sizeof what, "about %s", time);
    if (unknown == runs->count)
        snprintf(what, sizeof what, "unknown");
    else if (unknown)
        snprintf(what, sizeof what, "more than %s: %zu of %zu runs not measured", time, unknown,
                 runs->count);
    p->say("estimate", "all", what);
    return STATUS_OK;
}

static void say_no_verdict(const pipeline *p, const planned_runs *runs, int rounds) {
    bool repeated = true;
    for (size_t i = 0; i < runs->count; i++) repeated = repeated && runs->items[i].seed_count >= 3;
    if (!runs->turns.count && rounds < ROUNDS_LEAST)
        p->say("note", "speed", "no verdict: it needs 3 executions of each run (EXECUTIONS=3)");
    if (!repeated)
        p->say("note", "accuracy",
               "one seed cannot tell an effect from chance; SET=\"repeats=3\" trains three");
}

// ---- Deciding ----

static int count_finished(const planned_runs *runs, const run_estimate *e) {
    int count = 0;
    for (size_t i = 0; i < runs->count; i++) count += e[i].left <= 0;
    return count;
}

static status announce(pipeline *p, planned_runs *runs, int rounds, error *err) {
    char finished[80];
    run_estimate *e = memory_new(runs->count, sizeof *e);
    status rc = estimate_runs(p, runs, e, err);
    if (rc == STATUS_OK) {
        for (size_t i = 0; i < runs->count; i++) say_run(p, &runs->items[i], &e[i]);
        snprintf(finished, sizeof finished, "%d of %zu runs", count_finished(runs, e), runs->count);
        p->say("estimate", "finished", finished);
        rc = say_all(p, runs, e, rounds, err);
    }
    free(e);
    return rc;
}

status rounds_decide(pipeline *p, planned_runs *runs, int *rounds, error *err) {
    const settings *s = p->settings;
    const bool asks = s->command != COMMAND_EXPERIMENT; // about speed
    int missing;
    *rounds = s->executions ? s->executions : 1;
    status rc = counting_missing(p, runs, *rounds, &missing, err);
    if (rc != STATUS_OK) return rc;
    if (!asks && !s->dry_run) return rc;
    if (missing) rc = announce(p, runs, *rounds, err);
    if (rc != STATUS_OK) return rc;
    if (turns_left(runs)) turns_announce(p, runs);
    if (!missing && !turns_left(runs)) p->say("estimate", "all", "nothing left to run");
    if (missing && asks) say_no_verdict(p, runs, *rounds);
    return STATUS_OK;
}
