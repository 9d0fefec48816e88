// SPDX-License-Identifier: MIT
#include "results/seed_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/memory.h"
#include "results/like_for_like.h"
#include "results/timed_arms.h"
#include "results/verdict.h"

// Repeats may differ in the seed, and in what changes no bit. The name compared is the
// experiment's, as a plan may rename it.
static bool are_repeats(const run *a, const run *b) {
    static const char *const but[] = {
        "name", "seed", "repeats", "title", "published", "target_accuracy", "tta", NULL};
    return a->train && b->train && strcmp(a->experiment, b->experiment) == 0 &&
           strcmp(a->views, b->views) == 0 && like_parameters(a, b, but) && like_repeated(a, b);
}

static void name_groups(seed_group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *name = groups[i].runs[0]->experiment;
        bool alone = *name != 0;
        for (size_t k = 0; k < count; k++)
            alone = alone && (k == i || strcmp(groups[k].runs[0]->experiment, name) != 0);
        groups[i].name = alone ? name : groups[i].runs[0]->name;
    }
}

void seed_groups_make(const run_list *list, seed_group **groups, size_t *count) {
    *count = 0;
    *groups = memory_new(list->count, sizeof **groups);
    for (size_t i = 0; i < list->count; i++) {
        const run *r = &list->runs[i];
        size_t at = 0;
        while (at < *count && !are_repeats((*groups)[at].runs[0], r)) at++;
        seed_group *g = &(*groups)[at];
        if (at == *count) {
            g->runs = memory_new(list->count, sizeof(run *));
            (*count)++;
        }
        g->runs[g->count++] = r;
    }
    name_groups(*groups, *count);
}

status seed_group_named(const run_list *list, const char *name, seed_group *g, error *err) {
    *g = (seed_group){.name = name, .runs = memory_new(list->count, sizeof *g->runs)};
    for (size_t i = 0; i < list->count; i++)
        if (list->runs[i].train && strcmp(list->runs[i].experiment, name) == 0)
            g->runs[g->count++] = &list->runs[i];
    if (g->count) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot report on the plan: no run of '%s' among the folders", name);
}

void seed_groups_free(seed_group *groups, size_t count) {
    for (size_t i = 0; groups && i < count; i++) free(groups[i].runs);
    free(groups);
}

// Runs with the same seed end in the same model, so only the first adds an accuracy.
static bool is_first_of_seed(const seed_group *g, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (g->runs[i]->seed == g->runs[at]->seed) return false;
    return true;
}

void seed_group_executions(const seed_group *g, const run ***executions, size_t *count) {
    size_t room = 0;
    *count = 0;
    for (size_t i = 0; i < g->count; i++) room += run_execution_count(g->runs[i]);
    *executions = memory_new(room, sizeof **executions);
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < run_execution_count(g->runs[i]); k++)
            (*executions)[(*count)++] = run_execution(g->runs[i], k);
}

const run *seed_group_arm(const seed_group *g, const timed_arms *t, size_t *arm) {
    for (size_t i = 0; i < g->count; i++) {
        const run *r = g->runs[i];
        if (!r->timing || (t && !timed_arms_find(t, r, arm))) continue;
        if (!t) *arm = r->arm;
        return r;
    }
    return NULL;
}

const timed_arms *seed_group_common_timing(const seed_group *a, const seed_group *b) {
    size_t own, other;
    const run *first = seed_group_arm(a, NULL, &own);
    for (const timed_arms *t = first ? first->timing : NULL; t; t = t->next)
        if (seed_group_arm(a, t, &own) && seed_group_arm(b, t, &other) && own != other) return t;
    return NULL;
}

bool seed_group_is_simulated(const seed_group *g) {
    for (size_t i = 0; i < g->count; i++)
        if (g->runs[i]->simulated) return true;
    return false;
}

// Finds the runs that a mean of the metric is taken over; free() them.
static void find_observations(const seed_group *g, const metric_row *m, const run ***runs,
                              size_t *count) {
    if (m->kind == METRIC_POOLED) {
        seed_group_executions(g, runs, count);
        return;
    }
    *count = 0;
    *runs = memory_new(g->count, sizeof **runs);
    for (size_t i = 0; i < g->count; i++)
        if (m->kind != METRIC_RESULT || is_first_of_seed(g, i)) (*runs)[(*count)++] = g->runs[i];
}

static double value_of(const metric_row *m, const run *r, size_t member) {
    return metric_is_time(m) && !metric_has_time(m, r) ? NAN : metric_value(m, r, member);
}

seed_group_statistic seed_group_mean(const seed_group *g, const metric_row *m, size_t member) {
    const run **runs = NULL;
    size_t count;
    const run *timed = metric_is_epoch_time(m) ? seed_group_arm(g, NULL, &count) : NULL;
    if (timed) {
        const estimate epoch = timed_arms_epoch(timed);
        return (seed_group_statistic){epoch.value, NAN, epoch.range};
    }
    find_observations(g, m, &runs, &count);
    double *value = memory_new(count, sizeof *value);
    for (size_t i = 0; i < count; i++) value[i] = value_of(m, runs[i], member);
    const estimate mean = m->kind == METRIC_POOLED ? statistics_mean_time(value, count)
                                                   : statistics_mean_of(value, count);
    const double deviation = statistics_deviation(value, count);
    free(runs);
    free(value);
    return (seed_group_statistic){mean.value, deviation, mean.range};
}

// ---- The share of loading ----

// The shares of a run's timed epochs.
static size_t shares_of(const run *r, double *share) {
    size_t count = 0;
    const run_timed timed = run_timed_epochs(r);
    for (size_t i = timed.first; run_has_time(r) && i < timed.end; i++) {
        double part = r->epochs[i].phase[RUN_LOAD] / r->epochs[i].seconds;
        if (isfinite(part)) share[count++] = part;
    }
    return count;
}

// The mean over `runs` of the median of each run's values.
static estimate centre_of(double *medians, size_t runs, const double *values, size_t count) {
    const mean_estimate m = statistics_alone(medians, runs);
    estimate share = {m.value, {INFINITY, -INFINITY}};
    if (!runs) return (estimate){NAN, {NAN, NAN}};
    for (size_t i = 0; i < count; i++) {
        share.range.low = fmin(share.range.low, values[i]);
        share.range.high = fmax(share.range.high, values[i]);
    }
    if (runs >= VERDICT_EXECUTIONS) {
        const interval mean = statistics_interval(&m, 0.95);
        share.range = (interval){fmax(0, mean.low), fmin(1, mean.high)};
    }
    return share;
}

estimate seed_group_load_share(const seed_group *g) {
    size_t epochs = 0, runs = 0, n = 0, executed;
    const run **executions;
    seed_group_executions(g, &executions, &executed);
    for (size_t i = 0; i < executed; i++) epochs += executions[i]->epoch_count;
    double *values = memory_new(epochs, sizeof *values);
    double *medians = memory_new(executed, sizeof *medians);
    for (size_t i = 0; i < executed; i++) {
        const size_t count = shares_of(executions[i], values + n);
        if (count) medians[runs++] = median(values + n, count);
        n += count;
    }
    const estimate share = centre_of(medians, runs, values, n);
    free(executions);
    free(values);
    free(medians);
    return share;
}

load_bound load_bound_of(double share, interval range) {
    if (isnan(share)) return LOAD_BOUND_UNKNOWN;
    return range.low > 0.5    ? LOAD_BOUND_LOADER
           : range.high < 0.5 ? LOAD_BOUND_COMPUTE
                              : LOAD_BOUND_UNDECIDED;
}
