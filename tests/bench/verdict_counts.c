// SPDX-License-Identifier: MIT
// verdict_counts.c - counts verdicts on real trainings that took turns, and compares their ratios
// with those of whole executions.
//
//     verdict_counts same MACHINE FOLDER PERCENT...
//     verdict_counts slower MACHINE FOLDER PERCENT...
//     verdict_counts real MACHINE FOLDER WHAT [TRAIN-FOLDER...]
//     verdict_counts unlike MACHINE FOLDER WHAT IDLE-FOLDER...
//
// FOLDER is the --out of time-runs, and MACHINE is idle, steady, loops, bursts or build. Each
// command prints a row of a Markdown table, whose header tests/bench/calibrate prints. Exit code 4
// if the row misses a goal of docs/performance.md; the message says which.
//
// PERCENT... says by how much each arm was slowed down, 0 for the equal ones. From two arms and
// executions that are drawn at random it forms 200 comparisons, and judges each as time-runs does
// in two minutes. Every execution starts the arms anew, so any six make a comparison; with few
// executions, comparisons share some.
//
// WHAT names a difference between two arms, whose whole executions are the train folders: in turn
// of the first arm and of the second, round after round.
//
// `unlike` is for two arms that load the machine unlike, which quiet rounds compare: it forms 100
// comparisons, each of so many executions as two minutes have, or beside bursts five. One
// contradicts the idle machine, of which other sessions are given, if it has the other sign, or an
// interval that lies outside all of theirs.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"
#include "results/run_list.h"
#include "results/turn_evidence.h"
#include "results/verdict.h"

enum { COMPARISONS = 200, REAL = 20, UNLIKE = 100 };
static const double precision = 0.01, limit = 120; // of time-runs, for two arms, by default
static const double start_seconds = 0.3;           // of the processes of two arms

// The goals of docs/performance.md. All machines: at most ALLOWED of the comparisons of equals
// differ, and COVERED of their intervals cover 1.
// Of comparisons of unlike arms at most CONTRADICTING contradict the idle machine, and DECIDED are
// decided where a machine has quiet moments.
enum { ALLOWED = 10, COVERED = 186, FOUND = 160, AGREEING = 19, CONTRADICTING = 5, DECIDED = 80 };
typedef struct machine {
    const char *name;
    double slow_down; // per cent: found in FOUND comparisons
    size_t same;      // so many comparisons of equals are "the same"
    bool judges_real; // on others, a taken core changes the difference itself
    double limit;     // seconds of a comparison of unlike arms
    bool decides;     // them, as other programs rest at times
} machine;
static const machine machines[] = {{"idle", 2, 160, true, 120, true},
                                   {"steady", 4, 0, false, 120, false},
                                   {"loops", 0, 0, false, 120, false},
                                   {"bursts", 6, 100, false, 300, true},
                                   {"build", 0, 0, false, 300, false}};

// ---- A session of time-runs ----

typedef struct session {
    turn_log log;
    size_t arms;
    size_t *first; // turn of each execution, and behind the last
    size_t *step;  // first step of each turn
} session;

static void session_release(session *s) {
    turn_log_release(&s->log);
    free(s->first);
    free(s->step);
}

static void index_turns(session *s) {
    const turn_log *l = &s->log;
    s->first = memory_new(l->execution_count + 1, sizeof *s->first);
    s->step = memory_new(l->turn_count, sizeof *s->step);
    for (size_t i = 0, step = 0; i < l->turn_count; step += l->turns[i++].entries) {
        s->step[i] = step;
        s->first[l->turns[i].execution + 1] = i + 1;
    }
}

static status session_read(session *s, const char *folder, size_t arms, error *err) {
    tensor_file f = {0};
    char *path = memory_format("%s/%s", folder, TURNS_FILE);
    const size_t least = turn_executions_least(precision);
    status rc = STATUS_OK;
    *s = (session){.arms = arms};
    rc = tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err);
    if (rc == STATUS_OK) rc = turn_log_load(&s->log, arms, &f, path, err);
    if (rc == STATUS_OK) index_turns(s);
    if (rc == STATUS_OK && s->log.execution_count < least)
        rc = error_set(err, STATUS_INPUT, "too few executions: '%s': %zu instead of %zu or more",
                       path, s->log.execution_count, least);
    tensor_file_release(&f);
    free(path);
    return rc;
}

// ---- A comparison ----

typedef struct judgement {
    verdict verdict;
    estimate ratio; // of speeds, of arm `a` to arm `b`
    double half;    // of its interval's width
    size_t executions;
    double seconds; // that time-runs would have taken
} judgement;

// Appends an execution's turns of two arms, as if they had been alone. Adds what it would have
// taken, with the round that warms up.
static void take_execution(const session *s, size_t execution, const size_t arm[2], turn_log *l,
                           double *seconds) {
    const size_t begin = s->first[execution], end = s->first[execution + 1];
    const double rounds = (double)(end - begin) / (double)s->arms;
    uint64_t ns = 0;
    for (size_t i = begin; i < end; i++) {
        turn t = s->log.turns[i];
        const turn_step *steps = s->log.steps + s->step[i];
        if (t.arm != arm[0] && t.arm != arm[1]) continue;
        t.arm = t.arm == arm[1];
        t.execution = (uint32_t)l->execution_count;
        for (size_t k = 0; k < t.entries; k++) ns += steps[k].ns;
        turn_log_add(l, &t, steps);
    }
    *seconds = start_seconds + (double)ns / 1e9 * (rounds + 1) / rounds;
    turn_log_end(l, NAN);
}

static void conclude(const turn_fit *f, judgement *j) {
    const mean_estimate longer = turn_fit_difference(f, 0, 1);
    j->executions = f->executions;
    j->half = turn_half_width(&longer);
    j->verdict = verdict_on_turns(&longer, f->executions, false, &j->ratio);
}

// Draws an order of the executions (Fisher and Yates). Free() it.
static size_t *draw_executions(const session *s, uint32_t number) {
    const random_stream stream = {.seed = 1, .purpose = RANDOM_TRIAL, .sample = number};
    const size_t count = s->log.execution_count;
    size_t *order = memory_new(count, sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t left = count; left > 1; left--) {
        const size_t k = random_below(&stream, left, (uint32_t)left), moved = order[k];
        order[k] = order[left - 1];
        order[left - 1] = moved;
    }
    return order;
}

// Compares arms a and b, in executions that are drawn anew for each number, until time-runs would
// end, or all executions were used.
static void judge(const session *s, size_t a, size_t b, uint32_t number, judgement *j) {
    const size_t arm[2] = {a, b}, count = s->log.execution_count;
    const size_t least = turn_executions_least(precision);
    size_t *order = draw_executions(s, number);
    turn_log l = {0};
    static const turn_load alike[2];
    turn_evidence e = {0};
    bool enough = false;
    double longest = 0;
    *j = (judgement){0};
    while (!enough) {
        double seconds;
        take_execution(s, order[l.execution_count], arm, &l, &seconds);
        longest = fmax(longest, seconds);
        j->seconds += seconds;
        const bool last = l.execution_count == count || j->seconds + longest > limit;
        if (!last && l.execution_count < least) continue;
        turn_evidence_release(&e);
        turn_evidence_make(&l, alike, 2, 0, &e);
        enough = last || turn_evidence_settles(&e, precision, NULL);
    }
    conclude(&e.all, j);
    turn_evidence_release(&e);
    turn_log_release(&l);
    free(order);
}

// ---- Many comparisons ----

typedef struct tally {
    size_t comparisons, differ, slower, same, undecided, covering;
    double half, executions, seconds; // means
} tally;

static void add(tally *t, const judgement *j) {
    const bool differs = verdict_is_difference(&j->verdict);
    t->comparisons++;
    t->differ += differs;
    t->slower += differs && j->ratio.value < 1;
    t->same += j->verdict.kind == VERDICT_SAME;
    t->undecided += j->verdict.kind == VERDICT_UNDECIDED;
    t->covering += j->ratio.range.low <= 1 && 1 <= j->ratio.range.high;
    t->half += j->half / COMPARISONS;
    t->executions += (double)j->executions / COMPARISONS;
    t->seconds += j->seconds / COMPARISONS;
}

// Is arm a, slowed down by `slow` %, compared with arm b? Of two equal arms, only in one order.
static bool is_pair(const double *percent, double slow, size_t a, size_t b) {
    return percent[a] == slow && percent[b] == 0 && (slow > 0 || a < b);
}

// Compares the arms that were slowed down by `slow` % with those that were not, in turn.
static void count(const session *s, const double *percent, double slow, tally *t) {
    *t = (tally){0};
    while (t->comparisons < COMPARISONS)
        for (size_t a = 0; a < s->arms; a++)
            for (size_t b = 0; b < s->arms && t->comparisons < COMPARISONS; b++) {
                judgement j;
                if (!is_pair(percent, slow, a, b)) continue;
                judge(s, a, b, (uint32_t)t->comparisons, &j);
                add(t, &j);
            }
}

// ---- Goals ----

static const machine *find_machine(const char *name) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (strcmp(machines[i].name, name) == 0) return &machines[i];
    return NULL;
}

static status say(const machine *m, text *missed, error *err) {
    status rc = STATUS_OK;
    if (missed->length) rc = error_set(err, STATUS_FINDING, "%s: %s", m->name, text_string(missed));
    text_release(missed);
    return rc;
}

static void miss(text *missed, bool is_missed, const char *what, size_t got, const char *bound,
                 size_t goal) {
    if (is_missed)
        text_format(missed, "%s%s: %zu instead of %s %zu", missed->length ? "; " : "", what, got,
                    bound, goal);
}

// ---- The rows ----

static size_t equals_in(const double *percent, size_t arms) {
    size_t equal = 0;
    for (size_t a = 0; a < arms; a++) equal += percent[a] == 0;
    return equal;
}

// How many comparisons tell something new: those that share no execution, times the pairs
// whose difference does not follow from those of other pairs.
static size_t apart(const session *s, const double *percent, const tally *t) {
    const double apart = (double)s->log.execution_count / t->executions;
    return (size_t)apart * (equals_in(percent, s->arms) - 1);
}

static status row_same(const machine *m, const session *s, const double *percent, error *err) {
    tally t;
    text missed = {0};
    count(s, percent, 0, &t);
    printf("| %s | %zu | %zu | %zu | %zu | %zu | %zu | ±%.2f %% | %.1f | %.1f |\n", m->name,
           t.comparisons, apart(s, percent, &t), t.differ, t.same, t.undecided, t.covering,
           100 * t.half, t.executions, t.seconds / 60);
    miss(&missed, t.differ > ALLOWED, "comparisons of equals that differ", t.differ, "at most",
         ALLOWED);
    miss(&missed, t.covering < COVERED, "intervals that cover 1", t.covering, "at least", COVERED);
    miss(&missed, t.same < m->same, "comparisons of equals that are the same", t.same, "at least",
         m->same);
    return say(m, &missed, err);
}

// By how much the arm was slower in all executions, in per cent.
static void measured(const session *s, const double *percent, size_t arm, double *slower) {
    turn_fit f;
    size_t equal = 0;
    turn_fit_make(&s->log, s->arms, DEMAND_UNKNOWN, &f);
    while (percent[equal] != 0) equal++;
    const mean_estimate longer = turn_fit_difference(&f, arm, equal);
    *slower = 100 * expm1(longer.value);
    turn_fit_release(&f);
}

// Prints a cell for each arm that was slowed down; they are in ascending order.
static status row_slower(const machine *m, const session *s, const double *percent, error *err) {
    double found = INFINITY;
    text missed = {0};
    printf("| %s |", m->name);
    for (size_t a = 0; a < s->arms; a++) {
        tally t;
        double slower;
        if (percent[a] == 0) continue;
        count(s, percent, percent[a], &t);
        measured(s, percent, a, &slower);
        printf(" %.0f %% (%+.2f) |", 100.0 * (double)t.slower / COMPARISONS, slower);
        found = t.slower < FOUND ? INFINITY : fmin(found, percent[a]);
        miss(&missed, percent[a] == m->slow_down && t.slower < FOUND,
             "comparisons that find the slow-down", t.slower, "at least", FOUND);
    }
    if (isinf(found))
        printf(" none |\n");
    else
        printf(" %g %% |\n", found);
    return say(m, &missed, err);
}

// ---- Real differences ----

// The ratio of the medians, with the interval of the rounds' ratios.
static status whole_ratio(int count, char **folder, estimate *ratio, error *err) {
    run_list list = {0};
    const size_t n = (size_t)count / 2;
    double *seconds = memory_new(2 * n, sizeof *seconds);
    double *logs = memory_new(2 * n, sizeof *logs);
    status rc = STATUS_OK;
    for (int i = 0; rc == STATUS_OK && i < count; i++) rc = run_list_add(&list, folder[i], err);
    if (rc == STATUS_OK && (list.execution_count != 2 * n || count % 2 || n < VERDICT_EXECUTIONS))
        rc = error_set(err, STATUS_INPUT, "too few executions: %d instead of %d or more, in pairs",
                       count, 2 * VERDICT_EXECUTIONS);
    if (rc != STATUS_OK) goto out;
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t place = i % 2 * n + i / 2;
        seconds[place] = list.executions[i].seconds_per_epoch;
        logs[place] = log(seconds[place]);
    }
    const mean_estimate faster = statistics_pairs(logs, logs + n, n);
    const interval range = statistics_interval(&faster, 0.95);
    *ratio =
        (estimate){median(seconds, n) / median(seconds + n, n), {exp(range.low), exp(range.high)}};
out:
    free(seconds);
    free(logs);
    run_list_release(&list);
    return rc;
}

static void print_ratio(const estimate *e) {
    printf(" %.3f (%.3f to %.3f) |", e->value, e->range.low, e->range.high);
}

static void count_agreeing(const session *s, const estimate *whole, size_t *containing,
                           size_t *overlapping) {
    *containing = *overlapping = 0;
    for (uint32_t n = 0; n < REAL; n++) {
        judgement j;
        judge(s, 1, 0, n, &j);
        const interval own = j.ratio.range;
        *containing += own.low <= whole->value && whole->value <= own.high;
        *overlapping += own.low <= whole->range.high && whole->range.low <= own.high;
    }
}

static status row_real(const machine *m, const session *s, const char *what, int count,
                       char **folder, error *err) {
    turn_fit f = {0};
    judgement all = {0};
    estimate whole;
    text missed = {0};
    size_t containing, overlapping;
    turn_fit_make(&s->log, 2, DEMAND_UNKNOWN, &f);
    status rc = STATUS_OK;
    if (m->judges_real) rc = whole_ratio(count, folder, &whole, err);
    if (rc == STATUS_OK && m->judges_real) count_agreeing(s, &whole, &containing, &overlapping);
    if (rc != STATUS_OK) goto out;
    const mean_estimate longer = turn_fit_difference(&f, 1, 0);
    verdict_on_turns(&longer, f.executions, false, &all.ratio);
    printf("| %s | %s |", what, m->name);
    print_ratio(&all.ratio);
    if (!m->judges_real) {
        printf(" | | |\n");
        goto out;
    }
    print_ratio(&whole);
    printf(" %zu | %zu |\n", containing, overlapping);
    miss(&missed, containing < AGREEING, what, containing, "at least", AGREEING);
    rc = say(m, &missed, err);
out:
    turn_fit_release(&f);
    return rc;
}

// ---- Unlike arms ----

// A session of two arms, and what its manifest says of them.
typedef struct unlike_session {
    session s;
    turn_load loads[2];
    uint32_t quiet;
    double seconds; // of an execution, with what it waited for
} unlike_session;

static status read_about(const char *folder, unlike_session *u, error *err) {
    yaml_node *root = NULL;
    int64_t start, end;
    status rc;
    TRY(manifest_read_in(&root, err, "%s", folder));
    for (size_t a = 0; a < 2; a++) {
        const char *const path[] = {"run.arms.0.execution", "run.arms.1.execution"};
        u->loads[a] = turn_load_read(yaml_get(root, path[a]));
    }
    const double quiet = yaml_number_at(root, "run.quiet");
    if (!(quiet >= 0 && quiet < DEMAND_UNKNOWN) ||
        !clock_read_utc(yaml_text_at(root, "run.start"), &start) ||
        !clock_read_utc(yaml_text_at(root, "run.end"), &end))
        TRY(yaml_error(root, err, "expected times, and arms that are unlike"));
    u->quiet = (uint32_t)quiet;
    u->seconds = (double)(end - start) / (double)u->s.log.execution_count;
out:
    yaml_free(root);
    return rc;
}

static status unlike_read(const char *folder, unlike_session *u, error *err) {
    *u = (unlike_session){0};
    status rc = session_read(&u->s, folder, 2, err);
    if (rc == STATUS_OK) rc = read_about(folder, u, err);
    return rc;
}

static void conclude_unlike(const unlike_session *u, const turn_log *l, judgement *j) {
    turn_evidence e;
    turn_evidence_make(l, u->loads, 2, u->quiet, &e);
    conclude(turn_evidence_on(&e, 0, 1), j);
    turn_evidence_release(&e);
}

static void judge_unlike(const unlike_session *u, uint32_t number, double seconds, judgement *j) {
    const size_t arm[2] = {0, 1}, count = u->s.log.execution_count;
    size_t *order = draw_executions(&u->s, number);
    turn_log l = {0};
    double unused;
    *j = (judgement){0};
    while (l.execution_count < count && j->seconds + u->seconds <= seconds) {
        take_execution(&u->s, order[l.execution_count], arm, &l, &unused);
        j->seconds += u->seconds;
    }
    conclude_unlike(u, &l, j);
    turn_log_release(&l);
    free(order);
}

// The smallest interval that holds those of all idle sessions.
static status read_idle(int count, char **folder, interval *all, error *err) {
    *all = (interval){INFINITY, -INFINITY};
    for (int i = 0; i < count; i++) {
        unlike_session u;
        judgement j = {0};
        const status rc = unlike_read(folder[i], &u, err);
        if (rc == STATUS_OK) conclude_unlike(&u, &u.s.log, &j);
        session_release(&u.s);
        if (rc != STATUS_OK) return rc;
        all->low = fmin(all->low, j.ratio.range.low);
        all->high = fmax(all->high, j.ratio.range.high);
    }
    return STATUS_OK;
}

static bool contradicts(const judgement *j, const interval *idle) {
    if (j->verdict.kind == VERDICT_NONE) return false;
    const interval *own = &j->ratio.range;
    return own->low > idle->high || own->high < idle->low;
}

static bool decides(const judgement *j) {
    return verdict_is_difference(&j->verdict) || j->verdict.kind == VERDICT_SAME;
}

static status row_unlike(const machine *m, const char *folder, const char *what, int count,
                         char **idle_folders, error *err) {
    unlike_session u;
    interval idle;
    judgement all = {0};
    text missed = {0};
    size_t decided = 0, contradicting = 0;
    double executions = 0, seconds = 0;
    status rc;
    TRY(unlike_read(folder, &u, err));
    TRY(read_idle(count, idle_folders, &idle, err));
    for (uint32_t n = 0; n < UNLIKE; n++) {
        judgement j;
        judge_unlike(&u, n, m->limit, &j);
        decided += decides(&j);
        contradicting += contradicts(&j, &idle);
        executions += (double)j.executions / UNLIKE;
        seconds += j.seconds / UNLIKE;
    }
    conclude_unlike(&u, &u.s.log, &all);
    printf("| %s | %s | (%.3f to %.3f) |", what, m->name, idle.low, idle.high);
    if (all.verdict.kind == VERDICT_NONE)
        printf(" none |");
    else
        print_ratio(&all.ratio);
    printf(" %zu | %zu | %.1f | %.1f |\n", decided, contradicting, executions, seconds / 60);
    miss(&missed, contradicting > CONTRADICTING, what, contradicting, "at most", CONTRADICTING);
    miss(&missed, m->decides && decided < DECIDED, what, decided, "at least", DECIDED);
    rc = say(m, &missed, err);
out:
    session_release(&u.s);
    return rc;
}

// ---- The command ----

static status read_percents(int count, char **texts, double *percent, error *err) {
    for (int i = 0; i < count; i++) {
        char *end;
        percent[i] = strtod(texts[i], &end);
        if (end == texts[i] || *end || !(percent[i] >= 0))
            return error_set(err, STATUS_USAGE, "bad slow-down: '%s': expected a number", texts[i]);
    }
    if (equals_in(percent, (size_t)count) >= 2) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "expected two arms or more that were not slowed down");
}

static status run_row(const char *kind, const machine *m, const char *folder, int count,
                      char **rest, error *err) {
    if (strcmp(kind, "unlike") == 0)
        return row_unlike(m, folder, rest[0], count - 1, rest + 1, err);
    const bool real = strcmp(kind, "real") == 0;
    const size_t arms = real ? 2 : (size_t)count;
    session s = {0};
    status rc = STATUS_OK;
    double *percent = memory_new(arms, sizeof *percent);
    if (!real) TRY(read_percents(count, rest, percent, err));
    TRY(session_read(&s, folder, arms, err));
    if (real)
        rc = row_real(m, &s, rest[0], count - 1, rest + 1, err);
    else
        rc = strcmp(kind, "same") == 0 ? row_same(m, &s, percent, err)
                                       : row_slower(m, &s, percent, err);
out:
    session_release(&s);
    free(percent);
    return rc;
}

int main(int argc, char **argv) {
    static const char *const kinds[] = {"same", "slower", "real", "unlike"};
    error err = {0};
    const machine *m = argc >= 5 ? find_machine(argv[2]) : NULL;
    bool known = false;
    for (size_t i = 0; m && i < sizeof kinds / sizeof *kinds; i++)
        known |= strcmp(argv[1], kinds[i]) == 0;
    const status rc =
        known ? run_row(argv[1], m, argv[3], argc - 4, argv + 4, &err)
              : error_set(
                    &err, STATUS_USAGE,
                    "expected 'same', 'slower', 'real' or 'unlike', a machine, a folder and its "
                    "arms");
    if (rc != STATUS_OK) fprintf(stderr, "verdict_counts: %s\n", err.message);
    return (int)rc;
}
