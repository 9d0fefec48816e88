#include "results/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// Parameters that repeats may differ in: the seed, and what changes no bit. The name that counts is
// the experiment's: a plan may have given it.
static bool may_differ(const char *key) {
    static const char *const keys[] = {"name",  "seed",      "repeats",
                                       "title", "published", "target_accuracy"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static bool covers(const yaml_node *a, const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = yaml_find(b, a->keys[i]);
        if (may_differ(a->keys[i])) continue;
        if (!other || !yaml_equal(a->items[i], other)) return false;
    }
    return true;
}

static bool same_parameters(const yaml_node *a, const yaml_node *b) {
    return a && b && a->kind == YAML_MAPPING && b->kind == YAML_MAPPING && covers(a, b) &&
           covers(b, a);
}

static bool are_repeats(const run *a, const run *b) {
    return a->train && b->train && strcmp(a->experiment, b->experiment) == 0 &&
           same_parameters(yaml_find(a->train, "parameters"), yaml_find(b->train, "parameters")) &&
           strcmp(a->tool, b->tool) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->host, b->host) == 0 && strcmp(a->version, b->version) == 0 &&
           a->world_size == b->world_size && a->threads == b->threads &&
           a->loader_workers == b->loader_workers;
}

static void name_groups(group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *name = groups[i].runs[0]->experiment;
        bool alone = *name != 0;
        for (size_t k = 0; k < count; k++)
            alone = alone && (k == i || strcmp(groups[k].runs[0]->experiment, name) != 0);
        groups[i].name = alone ? name : groups[i].runs[0]->name;
    }
}

status groups_make(const run_list *list, group **groups, size_t *count, error *err) {
    *count = 0;
    *groups = memory_new(list->count, sizeof **groups, err);
    if (!*groups) return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++) {
        const run *r = &list->runs[i];
        size_t at = 0;
        while (at < *count && !are_repeats((*groups)[at].runs[0], r)) at++;
        group *g = &(*groups)[at];
        if (at == *count) {
            g->runs = memory_new(list->count, sizeof(run *), err);
            if (!g->runs) goto failed;
            (*count)++;
        }
        g->runs[g->count++] = r;
    }
    name_groups(*groups, *count);
    return STATUS_OK;
failed:
    groups_free(*groups, *count);
    *groups = NULL;
    *count = 0;
    return STATUS_FAILED;
}

void groups_free(group *groups, size_t count) {
    for (size_t i = 0; groups && i < count; i++) free(groups[i].runs);
    free(groups);
}

static interval mean_interval(double mean, double deviation, size_t n) {
    if (n < 2) return (interval){NAN, NAN};
    double half = statistics_t_quantile(0.975, (double)(n - 1)) * deviation / sqrt((double)n);
    return (interval){mean - half, mean + half};
}

// Two runs of one seed end in the same model: they say nothing twice about the accuracy.
static bool is_first_of_seed(const group *g, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (g->runs[i]->seed == g->runs[at]->seed) return false;
    return true;
}

status group_executions(const group *g, const run ***executions, size_t *count, error *err) {
    size_t room = 0;
    *count = 0;
    for (size_t i = 0; i < g->count; i++) room += run_execution_count(g->runs[i]);
    *executions = memory_new(room, sizeof **executions, err);
    if (!*executions) return STATUS_FAILED;
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < run_execution_count(g->runs[i]); k++)
            (*executions)[(*count)++] = run_execution(g->runs[i], k);
    return STATUS_OK;
}

static status summarize_accuracy(const group *g, group_summary *s, error *err) {
    size_t seeds = 0;
    double *value = memory_new(g->count, sizeof *value, err);
    if (!value) return STATUS_FAILED;
    for (size_t i = 0; i < g->count; i++)
        if (is_first_of_seed(g, i)) value[seeds++] = g->runs[i]->accuracy;
    s->accuracy = statistics_mean(value, seeds);
    s->accuracy_deviation = statistics_deviation(value, seeds);
    s->accuracy_range = mean_interval(s->accuracy, s->accuracy_deviation, seeds);
    free(value);
    return STATUS_OK;
}

static double seconds_of(const run *r) {
    return run_has_time(r) ? r->seconds_per_epoch : NAN;
}

static status summarize_times(const group *g, group_summary *s, error *err) {
    const run **executions;
    double *value = NULL;
    size_t count;
    status rc;
    TRY(group_executions(g, &executions, &count, err));
    rc = STATUS_FAILED;
    value = memory_new(count, sizeof *value, err);
    if (!value) goto out;
    for (size_t i = 0; i < count; i++) {
        value[i] = seconds_of(executions[i]);
        s->simulated |= executions[i]->simulated;
    }
    const double mean = statistics_mean(value, count);
    s->seconds = g->count == 1 ? seconds_of(g->runs[0]) : mean;
    s->seconds_deviation = statistics_deviation(value, count);
    s->seconds_range = mean_interval(mean, s->seconds_deviation, count);
    rc = STATUS_OK;
out:
    free(executions);
    free(value);
    return rc;
}

status group_summarize(const group *g, group_summary *s, error *err) {
    *s = (group_summary){0};
    status rc = summarize_accuracy(g, s, err);
    return rc == STATUS_OK ? summarize_times(g, s, err) : rc;
}
