// SPDX-License-Identifier: MIT
#include "results/turn_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/memory.h"

// ---- The log ----

void turn_log_add(turn_log *l, const turn *t, const turn_step *steps) {
    l->turns = memory_grow(l->turns, &l->turn_room, l->turn_count + 1, sizeof *l->turns);
    l->steps = memory_grow(l->steps, &l->step_room, l->step_count + t->entries, sizeof *l->steps);
    l->turns[l->turn_count++] = *t;
    memcpy(l->steps + l->step_count, steps, t->entries * sizeof *steps);
    l->step_count += t->entries;
}

void turn_log_demand(turn_log *l, size_t arms, uint32_t demand) {
    for (size_t i = l->turn_count - arms; i < l->turn_count; i++) l->turns[i].demand = demand;
}

void turn_log_end(turn_log *l, double others) {
    const size_t count = l->execution_count + 1;
    l->others = memory_grow(l->others, &l->execution_room, count, sizeof *l->others);
    l->others[l->execution_count] = others;
    l->execution_count = count;
}

// Those of executions that did not end come last.
static size_t ended_turns(const turn_log *l) {
    size_t count = l->turn_count;
    while (count && l->turns[count - 1].execution >= l->execution_count) count--;
    return count;
}

static size_t steps_of(const turn_log *l, size_t turns) {
    size_t count = 0;
    for (size_t i = 0; i < turns; i++) count += l->turns[i].entries;
    return count;
}

void turn_log_append(turn_log *l, const turn_log *more) {
    const uint32_t before = (uint32_t)l->execution_count;
    const turn_step *steps = more->steps;
    for (size_t i = 0; i < more->turn_count; i++) {
        turn t = more->turns[i];
        t.execution += before;
        turn_log_add(l, &t, steps);
        steps += t.entries;
    }
    for (size_t e = 0; e < more->execution_count; e++) turn_log_end(l, more->others[e]);
}

void turn_log_release(turn_log *l) {
    free(l->turns);
    free(l->steps);
    free(l->others);
    *l = (turn_log){0};
}

// ---- Its tensors ----

enum { TURN_COLUMNS = 5, DEMAND_COLUMN = 4, STEP_COLUMNS = 2 };
static const char *const turn_columns[TURN_COLUMNS] = {
    "turns.execution", "turns.round", "turns.arm", "turns.entries", "turns.demand"};
static const char *const step_columns[STEP_COLUMNS] = {"steps.steps", "steps.samples"};

static const char STEP_NS[] = "steps.ns", OTHERS[] = "executions.others";

static uint32_t *turn_field(turn *t, size_t column) {
    uint32_t *const fields[TURN_COLUMNS] = {&t->execution, &t->round, &t->arm, &t->entries,
                                            &t->demand};
    return fields[column];
}

static uint32_t *step_field(turn_step *s, size_t column) {
    return column ? &s->samples : &s->steps;
}

void turn_log_store(const turn_log *l, tensor_file *f) {
    const size_t turn_count = ended_turns(l), step_count = steps_of(l, turn_count);
    const int64_t turns[1] = {(int64_t)turn_count}, steps[1] = {(int64_t)step_count};
    const int64_t executions[1] = {(int64_t)l->execution_count};
    uint64_t *ns = memory_new(step_count, sizeof *ns);
    for (size_t c = 0; c < TURN_COLUMNS; c++) {
        uint32_t *column = memory_new(turn_count, sizeof *column);
        for (size_t i = 0; i < turn_count; i++) column[i] = *turn_field(&l->turns[i], c);
        tensor_file_give(f, turn_columns[c], TENSOR_U32, 1, turns, column);
    }
    for (size_t c = 0; c < STEP_COLUMNS; c++) {
        uint32_t *column = memory_new(step_count, sizeof *column);
        for (size_t i = 0; i < step_count; i++) column[i] = *step_field(&l->steps[i], c);
        tensor_file_give(f, step_columns[c], TENSOR_U32, 1, steps, column);
    }
    for (size_t i = 0; i < step_count; i++) ns[i] = l->steps[i].ns;
    tensor_file_give(f, STEP_NS, TENSOR_U64, 1, steps, ns);
    tensor_file_add(f, OTHERS, TENSOR_F64, 1, executions, l->others);
}

// Is `arm` of turn i another than those before it in the round?
static bool is_new_arm(const turn_log *l, size_t i, size_t place) {
    for (size_t k = 1; k <= place; k++)
        if (l->turns[i - k].arm == l->turns[i].arm) return false;
    return true;
}

// A round has one turn of each arm; rounds and executions count from 0.
static bool is_in_place(const turn_log *l, size_t i, size_t arms) {
    const turn *t = &l->turns[i];
    const size_t place = i % arms;
    if (t->arm >= arms || !t->entries || !is_new_arm(l, i, place)) return false;
    if (place)
        return t->execution == t[-1].execution && t->round == t[-1].round &&
               t->demand == t[-1].demand;
    if (!i) return !t->execution && !t->round;
    return t->execution == t[-1].execution ? t->round == t[-1].round + 1
                                           : t->execution == t[-1].execution + 1 && !t->round;
}

static status check(const turn_log *l, size_t arms, const char *path, error *err) {
    size_t entries = 0;
    bool right = arms && l->turn_count % arms == 0;
    for (size_t i = 0; right && i < l->turn_count; i++) {
        right = is_in_place(l, i, arms);
        entries += l->turns[i].entries;
    }
    for (size_t i = 0; right && i < l->step_count; i++)
        right = l->steps[i].ns && l->steps[i].samples;
    right = right && entries == l->step_count && l->turn_count;
    if (right && l->turns[l->turn_count - 1].execution + 1u == l->execution_count) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot read turns: '%s': they are not whole rounds of %zu arms", path, arms);
}

// Turns of older versions have no demand.
static status load_turns(turn_log *l, const tensor_file *f, const char *path, error *err) {
    int64_t turns[1] = {-1};
    const tensor *t;
    NEED(tensor_file_require(f, path, turn_columns[0], TENSOR_U32, 1, turns, &t, err));
    turns[0] = t->shape[0];
    l->turns = memory_grow(l->turns, &l->turn_room, (size_t)turns[0], sizeof *l->turns);
    l->turn_count = (size_t)turns[0];
    for (size_t c = 0; c < TURN_COLUMNS; c++) {
        const bool known = c < DEMAND_COLUMN || tensor_file_find(f, turn_columns[c]);
        if (known)
            NEED(tensor_file_require(f, path, turn_columns[c], TENSOR_U32, 1, turns, &t, err));
        for (size_t i = 0; i < l->turn_count; i++)
            *turn_field(&l->turns[i], c) = known ? ((const uint32_t *)t->data)[i] : DEMAND_UNKNOWN;
    }
    return STATUS_OK;
}

status turn_log_load(turn_log *l, size_t arms, const tensor_file *f, const char *path, error *err) {
    int64_t steps[1] = {-1}, executions[1] = {-1};
    const tensor *t;
    status rc;
    *l = (turn_log){0};
    TRY(load_turns(l, f, path, err));
    TRY(tensor_file_require(f, path, STEP_NS, TENSOR_U64, 1, steps, &t, err));
    steps[0] = t->shape[0];
    l->steps = memory_grow(l->steps, &l->step_room, (size_t)steps[0], sizeof *l->steps);
    l->step_count = (size_t)steps[0];
    for (size_t i = 0; i < l->step_count; i++) l->steps[i].ns = ((const uint64_t *)t->data)[i];
    for (size_t c = 0; c < STEP_COLUMNS; c++) {
        TRY(tensor_file_require(f, path, step_columns[c], TENSOR_U32, 1, steps, &t, err));
        for (size_t i = 0; i < l->step_count; i++)
            *step_field(&l->steps[i], c) = ((const uint32_t *)t->data)[i];
    }
    TRY(tensor_file_require(f, path, OTHERS, TENSOR_F64, 1, executions, &t, err));
    l->execution_count = (size_t)t->shape[0];
    l->others = memory_grow(l->others, &l->execution_room, l->execution_count, sizeof *l->others);
    if (t->bytes) memcpy(l->others, t->data, t->bytes);
    rc = check(l, arms, path, err);
out:
    if (rc != STATUS_OK) turn_log_release(l);
    return rc;
}

// ---- The first steps of a turn ----

static double ns_per_sample(const turn_step *s) {
    return (double)s->ns / (double)s->samples;
}

// The least entries of a turn of the arm.
static size_t shortest(const turn_log *l, uint32_t arm) {
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < l->turn_count; i++)
        if (l->turns[i].arm == arm && l->turns[i].entries < least) least = l->turns[i].entries;
    return least == SIZE_MAX ? 0 : least;
}

// The median over the arm's turns of the k-th entry.
static double median_entry(const turn_log *l, uint32_t arm, size_t k, double *room) {
    size_t count = 0, first = 0;
    for (size_t i = 0; i < l->turn_count; first += l->turns[i++].entries)
        if (l->turns[i].arm == arm) room[count++] = ns_per_sample(&l->steps[first + k]);
    return median(room, count);
}

// The truncation that minimises the standard error of the rest; at most half is left out.
static size_t truncation(const double *series, size_t count) {
    double best = INFINITY;
    size_t found = 0;
    for (size_t d = 0; d <= count / 2 && count - d > 1; d++) {
        const double n = (double)(count - d);
        const double deviation = statistics_deviation(series + d, count - d);
        const double variance = deviation * deviation / n;
        if (variance < best) {
            best = variance;
            found = d;
        }
    }
    return found;
}

// The share of a turn that the arm whose beginning is longest leaves out.
static double share_skipped(const turn_log *l, size_t arms, double *series, double *room) {
    double share = 0;
    for (uint32_t a = 0; a < arms; a++) {
        const size_t all = shortest(l, a), count = all < TURN_STEPS ? all : TURN_STEPS;
        for (size_t k = 0; k < count; k++) series[k] = median_entry(l, a, k, room);
        if (count) share = fmax(share, (double)truncation(series, count) / (double)count);
    }
    return share;
}

static void find_skipped(const turn_log *l, turn_fit *f) {
    double *room = memory_new(l->turn_count, sizeof *room);
    double *series = memory_new(TURN_STEPS, sizeof *series);
    const double share = share_skipped(l, f->arms, series, room);
    for (uint32_t a = 0; a < f->arms; a++) {
        const size_t entries = shortest(l, a), some = (size_t)ceil(share * (double)entries);
        f->skipped[a] = some < entries ? some : entries - !!entries; // one is left
    }
    free(series);
    free(room);
}

// ---- Rounds and arms ----

// y[round * arms + arm] of one execution: log of the time per sample of a turn.
typedef struct table {
    double *y, *round, *arm, *room;
    size_t rounds, arms;
} table;

// It converges in a few passes.
static void polish(table *t) {
    enum { PASSES = 20 };
    for (size_t a = 0; a < t->arms; a++) t->arm[a] = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t r = 0; r < t->rounds; r++) {
            for (size_t a = 0; a < t->arms; a++) t->room[a] = t->y[r * t->arms + a] - t->arm[a];
            t->round[r] = median(t->room, t->arms);
        }
        for (size_t a = 0; a < t->arms; a++) {
            for (size_t r = 0; r < t->rounds; r++) t->room[r] = t->y[r * t->arms + a] - t->round[r];
            t->arm[a] = median(t->room, t->rounds);
        }
    }
}

static double turn_log_ns(const turn_step *steps, size_t entries, size_t skipped) {
    uint64_t ns = 0, samples = 0;
    for (size_t k = skipped; k < entries; k++) {
        ns += steps[k].ns;
        samples += steps[k].samples;
    }
    return log((double)ns / (double)samples);
}

// Does the round of this turn count?
static bool is_quiet(const turn *t, uint32_t demand) {
    return demand == DEMAND_UNKNOWN || t->demand <= demand;
}

// Fits the rounds of the turns [first, end) that count, whose steps begin at `step`; false if they
// are too few.
static bool fit_execution(const turn_log *l, size_t first, size_t end, size_t step, uint32_t demand,
                          const turn_fit *f, table *t, double *log_ns) {
    const size_t all = (end - first) / f->arms;
    size_t kept = 0; // turns
    for (size_t i = first; i < end; step += l->turns[i++].entries) {
        const turn *one = &l->turns[i];
        if (!is_quiet(one, demand)) continue;
        t->y[kept++ / f->arms * f->arms + one->arm] =
            turn_log_ns(&l->steps[step], one->entries, f->skipped[one->arm]);
    }
    t->rounds = kept / f->arms;
    if (!t->rounds || (t->rounds < TURN_ROUNDS_LEAST && t->rounds < all)) return false;
    polish(t);
    memcpy(t->room, t->round, t->rounds * sizeof *t->room);
    const double level = median(t->room, t->rounds);
    for (size_t a = 0; a < f->arms; a++) log_ns[a] = level + t->arm[a];
    return true;
}

void turn_fit_make(const turn_log *l, size_t arms, uint32_t demand, turn_fit *f) {
    const size_t turns = ended_turns(l);
    *f = (turn_fit){.arms = arms,
                    .log_ns = memory_new(l->execution_count * arms, sizeof *f->log_ns),
                    .rounds = memory_new(l->execution_count, sizeof *f->rounds),
                    .skipped = memory_new(arms, sizeof *f->skipped)};
    table t = {.arms = arms,
               .y = memory_new(l->turn_count, sizeof *t.y),
               .round = memory_new(l->turn_count, sizeof *t.round),
               .arm = memory_new(arms, sizeof *t.arm),
               .room = memory_new(l->turn_count + arms, sizeof *t.room)};
    find_skipped(l, f);
    for (size_t first = 0, step = 0; first < turns;) {
        const uint32_t execution = l->turns[first].execution;
        const size_t begin = step;
        size_t end = first;
        while (end < turns && l->turns[end].execution == execution) step += l->turns[end++].entries;
        double *log_ns = f->log_ns + f->executions * arms;
        const bool counts = fit_execution(l, first, end, begin, demand, f, &t, log_ns);
        f->rounds[f->executions] = t.rounds;
        f->executions += counts;
        first = end;
    }
    free(t.y);
    free(t.round);
    free(t.arm);
    free(t.room);
}

void turn_fit_release(turn_fit *f) {
    free(f->log_ns);
    free(f->rounds);
    free(f->skipped);
    *f = (turn_fit){0};
}

mean_estimate turn_fit_difference(const turn_fit *f, size_t a, size_t b) {
    double sum = 0, square = 0;
    const double n = (double)f->executions;
    for (size_t e = 0; e < f->executions; e++)
        sum += f->log_ns[e * f->arms + a] - f->log_ns[e * f->arms + b];
    for (size_t e = 0; e < f->executions; e++)
        square += pow(f->log_ns[e * f->arms + a] - f->log_ns[e * f->arms + b] - sum / n, 2);
    return (mean_estimate){sum / n, n < 2 ? NAN : sqrt(square / (n - 1) / n), n - 1};
}

double turn_fit_execution(const turn_fit *f, size_t execution, size_t arm) {
    return exp(f->log_ns[execution * f->arms + arm]) / 1e9;
}

estimate turn_fit_seconds(const turn_fit *f, size_t arm) {
    double sum = 0, square = 0;
    const double n = (double)f->executions, to_seconds = log(1e9);
    for (size_t e = 0; e < f->executions; e++) sum += f->log_ns[e * f->arms + arm] - to_seconds;
    for (size_t e = 0; e < f->executions; e++)
        square += pow(f->log_ns[e * f->arms + arm] - to_seconds - sum / n, 2);
    const mean_estimate m = {sum / n, n < 2 ? NAN : sqrt(square / (n - 1) / n), n - 1};
    const interval range = statistics_interval(&m, 0.95);
    return (estimate){exp(m.value), {exp(range.low), exp(range.high)}};
}

// ---- Intervals ----

size_t turn_executions_least(double precision) {
    static const double coarse = 0.05; // a precision for which less will do
    return precision < coarse ? 6 : 3;
}

double turn_half_width(const mean_estimate *difference) {
    const interval range = statistics_interval(difference, 0.95);
    return expm1((range.high - range.low) / 2);
}
