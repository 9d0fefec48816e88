// SPDX-License-Identifier: MIT
#include "results/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
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

typedef struct choice {
    const run *of;   // one of them
    size_t coverage; // number of other runs with timed executions on the same machine and build
    size_t count;
    bool timed;
    const char *newest; // start; times are ISO 8601 in UTC and compare as texts
} choice;

// Runs are compared only on the same machine and build, so a machine shared with other runs is
// worth more than a larger number of executions. Executions of the same run do not count here, and
// each other run counts once.
static size_t count_covered(const run_list *list, const run *one) {
    size_t covered = 0;
    for (size_t i = 0; i < list->execution_count; i++) {
        const run *other = &list->executions[i];
        bool first = !same_key(one, other) && like_made(one, other) && run_has_time(other);
        for (size_t k = 0; first && k < i; k++)
            first =
                !(same_key(&list->executions[k], other) && like_made(one, &list->executions[k]));
        covered += first;
    }
    return covered;
}

static choice count_alike(const run_list *list, const run *executions, size_t count,
                          const run *one) {
    choice c = {.of = one, .timed = run_has_time(one), .newest = ""};
    c.coverage = count_covered(list, one);
    for (size_t i = 0; i < count; i++) {
        const char *start = yaml_text_at(executions[i].train, "run.start");
        if (!like_executed(one, &executions[i])) continue;
        c.count++;
        if (strcmp(start, c.newest) > 0) c.newest = start;
    }
    return c;
}

static bool is_better(const choice *a, const choice *b) {
    if (a->timed != b->timed) return a->timed;
    if (a->coverage != b->coverage) return a->coverage > b->coverage;
    if (a->count != b->count) return a->count > b->count;
    return strcmp(a->newest, b->newest) > 0;
}

// Moves the executions that count to the front, and returns their number.
static size_t choose_alike(const run_list *list, run *executions, size_t count) {
    choice best = {0};
    if (count == 1) return 1;
    for (size_t i = 0; i < count; i++) {
        const choice c = count_alike(list, executions, count, &executions[i]);
        if (!best.of || is_better(&c, &best)) best = c;
    }
    for (size_t i = 0; i < count; i++)
        executions[i].excluded = !like_executed(best.of, &executions[i]);
    size_t end = 0;
    for (size_t i = 0; i < count; i++)
        if (!executions[i].excluded) move_execution(executions, i, end++);
    return end;
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

static void make_run(const run *executions, size_t counted, size_t count, run *r) {
    *r = executions[find_median(executions, counted)];
    r->executions = executions;
    r->execution_count = counted;
    r->excluded_count = count - counted;
    for (size_t i = 0; i < count; i++) take_evaluation(r, &executions[i]);
    if (counted > 1) take_means(r);
}

// ---- Common rounds ----

// The executions of one run: those that count come first.
typedef struct span {
    run *executions;
    size_t counted, count;
} span;

static bool has_round(const span *s, const char *round) {
    for (size_t i = 0; i < s->counted; i++)
        if (strcmp(s->executions[i].round, round) == 0) return true;
    return false;
}

// Has every run that was timed several times an execution of this round?
static bool is_common(const span *spans, size_t count, const char *round) {
    for (size_t i = 0; i < count; i++)
        if (spans[i].counted > 1 && !has_round(&spans[i], round)) return false;
    return *round != 0;
}

static size_t count_common(const span *spans, size_t count, const span *of) {
    size_t common = 0;
    for (size_t i = 0; i < of->counted; i++)
        common += is_common(spans, count, of->executions[i].round);
    return common;
}

// A run of which executions were added alone, at another hour, would be compared with that hour: of
// runs that have common rounds, only these count.
static void keep_common(span *spans, size_t count) {
    size_t several = 0, common = 0;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].counted < 2) continue;
        several++;
        common = count_common(spans, count, &spans[i]);
    }
    if (several < 2 || !common) return;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; spans[i].counted > 1 && k < spans[i].counted; k++) {
            run *one = &spans[i].executions[k];
            one->excluded = one->apart = !is_common(spans, count, one->round);
        }
    for (size_t i = 0; i < count; i++) {
        size_t end = 0;
        for (size_t k = 0; k < spans[i].counted; k++)
            if (!spans[i].executions[k].excluded) move_execution(spans[i].executions, k, end++);
        spans[i].counted = end;
    }
}

status pool_runs(run_list *list, bool apart, error *err) {
    remove_doubles(list);
    status rc = pair_evaluations(list, err);
    remove_doubles(list);
    if (rc == STATUS_OK) rc = check_models(list, err);
    if (rc != STATUS_OK) return rc;
    span *spans = memory_new(list->execution_count, sizeof *spans);
    list->runs = memory_new(list->execution_count, sizeof *list->runs);
    size_t count = 0;
    for (size_t first = 0; first < list->execution_count; count++) {
        run *executions = &list->executions[first];
        const size_t all = gather_run(executions, list->execution_count - first, apart);
        spans[count] = (span){executions, choose_alike(list, executions, all), all};
        first += all;
    }
    keep_common(spans, count);
    for (size_t i = 0; i < count; i++)
        make_run(spans[i].executions, spans[i].counted, spans[i].count, &list->runs[list->count++]);
    free(spans);
    return rc;
}
