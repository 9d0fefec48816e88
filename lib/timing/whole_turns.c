// SPDX-License-Identifier: MIT
// whole_turns.c - turns that are whole runs of a command.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/demand.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/shell_words.h"
#include "timing/session.h"

// ---- One run ----

// In the folder of the session, which all hosts of a launcher see; else in that of temporary files.
// The command may change its own folder.
static status make_scratch(session *s, error *err) {
    const char *place = getenv("TMPDIR");
    if (s->scratch) return STATUS_OK;
    if (s->o->out) {
        char *real = realpath(s->o->out, NULL);
        if (!real)
            return error_system(err, STATUS_FAILED, errno, "cannot write folder '%s'", s->o->out);
        s->scratch = memory_format("%s/.run", real);
        free(real);
        return STATUS_OK;
    }
    s->scratch = memory_format("%s/lockstep-XXXXXX", place && *place ? place : "/tmp");
    if (mkdtemp(s->scratch)) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot make folder '%s'", s->scratch);
}

void whole_end(session *s) {
    if (s->scratch) (void)!remove_tree(s->scratch, NULL);
    free(s->scratch);
    s->scratch = NULL;
}

// The time of an epoch, as a training that writes a folder has it: the median of all but the first.
static status take_epoch(const session *s, arm *a, turn_step *step, error *err) {
    yaml_free(a->manifest);
    a->manifest = NULL;
    NEED(manifest_read_in(&a->manifest, err, "%s", s->scratch));
    const double seconds = yaml_number_at(a->manifest, "results.seconds_per_epoch");
    const double samples = yaml_number_at(a->manifest, "results.samples");
    if (!(seconds > 0 && samples >= 1 && samples <= UINT32_MAX))
        return error_set(err, STATUS_FAILED, "arm %u has no time of an epoch: '%s'",
                         (unsigned)a->number + 1, a->command);
    *step = (turn_step){.ns = (uint64_t)(seconds * 1e9), .steps = 1, .samples = (uint32_t)samples};
    return STATUS_OK;
}

// A folder of an earlier run would be complete already.
static status run_once(session *s, arm *a, turn_step *step, error *err) {
    uint64_t ns;
    char *more = NULL;
    status rc = STATUS_OK;
    if (arm_is_training(a)) {
        TRY(make_scratch(s, err));
        if (paths_allow(F_OK, "%s", s->scratch)) TRY(remove_tree(s->scratch, err));
        char *folder = shell_quote(s->scratch);
        more = memory_format(" --quiet --out %s", folder);
        free(folder);
    }
    TRY(arm_run(a, more ? more : "", &ns, err));
    *step = (turn_step){.ns = ns, .steps = 1, .samples = 1};
    if (s->by_epochs) TRY(take_epoch(s, a, step, err));
out:
    free(more);
    return rc;
}

// ---- An execution ----

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static status run_arms(session *s, const uint32_t *order, error *err) {
    uint32_t demand = 0, now;
    for (size_t i = 0; i < s->t->count; i++) {
        turn t = {.execution = s->execution, .arm = order[i], .entries = 1};
        NEED(session_await_quiet(s, &now, err));
        demand = larger(demand, now);
        NEED(run_once(s, &s->t->arms[t.arm], s->room, err));
        turn_log_add(&s->t->log, &t, s->room);
        session_show(s);
    }
    turn_log_demand(&s->t->log, s->t->count, larger(demand, session_demand(s)));
    return STATUS_OK;
}

// What the arms are is known after their first run.
static status begin(session *s, uint64_t ns, error *err) {
    s->rounds = 1;
    session_announce(s, (double)ns / 1e9);
    return s->o->out ? session_read_earlier(s, err) : STATUS_OK;
}

status whole_execution(session *s, bool *enough, error *err) {
    uint32_t *order = memory_new(s->t->count, sizeof *order);
    const uint64_t start = clock_now();
    *enough = false;
    session_draw_order(s, 0, order);
    status rc = run_arms(s, order, err);
    if (rc == STATUS_OK) rc = session_describe_arms(s, err);
    if (rc == STATUS_OK && !s->rounds) rc = begin(s, clock_now() - start, err);
    free(order);
    return rc;
}
