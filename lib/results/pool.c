// SPDX-License-Identifier: MIT
#include "results/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/text.h"
#include "results/like_for_like.h"
#include "results/statistics.h"

// ---- One execution each ----

static size_t parent_length(const char *path) {
    size_t length = strlen(path);
    while (length && path[length - 1] == '/') length--;
    while (length && path[length - 1] != '/') length--;
    return length;
}

static bool same_parent(const char *a, const char *b) {
    size_t length = parent_length(a);
    return length && length == parent_length(b) && strncmp(a, b, length) == 0;
}

// Finds the train run of a lone evaluation: one with the same model, preferably from the folder
// next to it.
static run *find_partner(run_list *list, const run *lone) {
    run *found = NULL;
    for (size_t i = 0; i < list->execution_count; i++) {
        run *r = &list->executions[i];
        if (!r->train || r->evaluate || !*r->model_content || !run_evaluates(r, lone->evaluate))
            continue;
        if (same_parent(r->folder, lone->evaluation)) return r;
        if (!found) found = r;
    }
    return found;
}

static bool same_folder(const char *a, const char *b) {
    return a && b && paths_same(a, b);
}

// Is it the same folder, through any links, or a copy? Manifests hold times, so no two are equal.
static bool same_execution(const run *a, const run *b) {
    if (a->evaluation && b->evaluation && strcmp(a->views, b->views) != 0) return false;
    if (!a->folder || !b->folder) return same_folder(a->evaluation, b->evaluation);
    return same_folder(a->folder, b->folder) ||
           (*a->key && strcmp(a->key, b->key) == 0 && yaml_equal(a->train, b->train));
}

static void remove_execution(run_list *list, size_t at) {
    run_release(&list->executions[at]);
    list->execution_count--;
    memmove(&list->executions[at], &list->executions[at + 1],
            (list->execution_count - at) * sizeof *list->executions);
}

// Of two copies, the more complete one is kept, in the place of the first.
static void drop_double(run_list *list, size_t first, size_t second) {
    run *a = &list->executions[first], *b = &list->executions[second];
    if (!a->folder || !a->evaluation) {
        const run whole = *b;
        *b = *a;
        *a = whole;
        a->baseline = b->baseline;
    }
    remove_execution(list, second);
}

// An execution given twice, say as the baseline and among the others, counts once.
static void remove_doubles(run_list *list) {
    for (size_t i = 0; i < list->execution_count; i++)
        for (size_t k = list->execution_count; k-- > i + 1;)
            if (same_execution(&list->executions[i], &list->executions[k])) drop_double(list, i, k);
}

static status pair_evaluations(run_list *list, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < list->execution_count;) {
        run *lone = &list->executions[i], *partner = NULL;
        if (!lone->train) partner = find_partner(list, lone);
        if (!partner) {
            i++;
            continue;
        }
        partner->evaluation = lone->evaluation;
        partner->evaluate = lone->evaluate;
        lone->evaluation = NULL;
        lone->evaluate = NULL;
        rc = run_read_evaluation(partner, err);
        remove_execution(list, i);
    }
    return rc;
}

// ---- Runs ----

static bool same_key(const run *a, const run *b) {
    return *a->key && strcmp(a->key, b->key) == 0;
}

static bool same_run(const run *a, const run *b) {
    return same_key(a, b) && strcmp(a->views, b->views) == 0;
}

// Equal settings give equal bits: if they did not, no figure of the run is meaningful.
static status check_models(const run_list *list, error *err) {
    for (size_t i = 0; i < list->execution_count; i++) {
        for (size_t k = i + 1; k < list->execution_count; k++) {
            const run *a = &list->executions[i], *b = &list->executions[k];
            if (!same_key(a, b) || !*a->model_content || !*b->model_content ||
                strcmp(a->model_content, b->model_content) == 0)
                continue;
            return error_set(err, STATUS_FINDING,
                             "executions of one run ended in different models: '%s' in %s, '%s' in "
                             "%s (both have the key %.12s)",
                             a->folder, a->model_content, b->folder, b->model_content, a->key);
        }
    }
    return STATUS_OK;
}

// ---- Order ----

static void move_execution(run *executions, size_t from, size_t to) {
    const run moved = executions[from];
    memmove(&executions[to + 1], &executions[to], (from - to) * sizeof *executions);
    executions[to] = moved;
}

// Moves all executions of the first one's run to the front, and returns their number.
static size_t gather_run(run *executions, size_t count, bool apart) {
    size_t end = 1;
    for (size_t i = 1; i < count; i++) {
        const bool same_side = !apart || executions[i].baseline == executions[0].baseline;
        if (same_run(&executions[0], &executions[i]) && same_side)
            move_execution(executions, i, end++);
    }
    return end;
}

// ---- Are they alike? ----

static status refuse_unlike(const run *a, const run *b, error *err) {
    reason_list unlike = {0};
    text why = {0};
    like_not_executed(a, b, &unlike);
    for (size_t i = 0; i < unlike.count; i++) {
        const reason *r = &unlike.items[i];
        text_append(&why, i ? "; " : "");
        if (r->b)
            text_format(&why, "%s %s vs %s", r->of, r->a, r->b);
        else if (r->a)
            text_format(&why, "'%s' was %s", r->a, r->of);
        else
            text_format(&why, "%s differs", r->of);
    }
    error_set(err, STATUS_INPUT,
              "cannot pool executions of one run: '%s' and '%s' are unlike: %s: give only those "
              "that are alike",
              a->folder, b->folder, text_string(&why));
    text_release(&why);
    reasons_release(&unlike);
    return STATUS_INPUT;
}

// Times are pooled, so all must have been made alike; one that was resumed has none.
static status check_alike(const run *executions, size_t count, error *err) {
    for (size_t i = 1; i < count; i++)
        if (!like_executed(&executions[0], &executions[i]))
            return refuse_unlike(&executions[0], &executions[i], err);
    return STATUS_OK;
}

// ---- The run of the executions ----

// The execution with the median time, so that single epochs and steps shown are typical.
static size_t find_median(const run *executions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        for (size_t k = 0; k < count; k++) {
            const double a = executions[k].seconds_per_epoch, b = executions[i].seconds_per_epoch;
            before += a < b || (a == b && k < i);
        }
        if (before == (count - 1) / 2) return i;
    }
    return 0;
}

static void take_evaluation(run *r, const run *from) {
    if (r->evaluate || !from->evaluate) return;
    r->evaluation = from->evaluation;
    r->evaluate = from->evaluate;
    r->accuracy = from->accuracy;
    r->test_loss = from->test_loss;
    r->test_samples = from->test_samples;
    r->classes = from->classes;
    r->class_count = from->class_count;
    r->confusion = from->confusion;
}

static void take_means(run *r) {
    const size_t count = r->execution_count;
    double *value = memory_new(count, sizeof *value);
    for (size_t i = 0; i < count; i++) value[i] = r->executions[i].seconds_per_epoch;
    r->seconds_per_epoch = statistics_mean_time(value, count).value;
    for (size_t i = 0; i < count; i++) value[i] = r->executions[i].total_seconds;
    r->total_seconds = statistics_mean_time(value, count).value;
    free(value);
}

static void make_run(const run *executions, size_t count, run *r) {
    *r = executions[find_median(executions, count)];
    r->executions = executions;
    r->execution_count = count;
    for (size_t i = 0; i < count; i++) take_evaluation(r, &executions[i]);
    if (count > 1) take_means(r);
}

status pool_runs(run_list *list, bool apart, error *err) {
    remove_doubles(list);
    NEED(pair_evaluations(list, err));
    remove_doubles(list);
    NEED(check_models(list, err));
    list->runs = memory_new(list->execution_count, sizeof *list->runs);
    for (size_t first = 0; first < list->execution_count;) {
        run *executions = &list->executions[first];
        const size_t count = gather_run(executions, list->execution_count - first, apart);
        NEED(check_alike(executions, count, err));
        make_run(executions, count, &list->runs[list->count++]);
        first += count;
    }
    return STATUS_OK;
}
