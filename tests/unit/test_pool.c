// SPDX-License-Identifier: MIT
// Which executions make a run, and what it shows of them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "results/like_for_like.h"
#include "results/pool.h"
#include "results/seed_group.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

// Describes an execution.
typedef struct told {
    const char *key, *model;
    int threads, day, segments;
    double seconds;
} told;

static void read_told(run *r, const told *t) {
    char manifest[1024], execution[256];
    error err;
    run_init(r);
    snprintf(execution, sizeof execution, "{threads: %d, devices: [cpu]}", t->threads);
    snprintf(manifest, sizeof manifest,
             "{key: %s, outputs: [{path: model.st.zst, content: %s}], "
             "run: {host: here, start: 2026-01-%02d, execution: %s%s%s%s}, "
             "results: {seconds_per_epoch: %g, total_seconds: %g}}",
             t->key, t->model, t->day, t->segments > 1 ? "[" : "", execution,
             t->segments > 1 ? ", {threads: 1, devices: [cpu]}" : "", t->segments > 1 ? "]" : "",
             t->seconds, 10 * t->seconds);
    assert_int_equal(yaml_read_text(manifest, strlen(manifest), "m.yaml", &r->train, &err),
                     STATUS_OK);
    snprintf(execution, sizeof execution, "folder %d", t->day);
    r->folder = memory_string(execution);
    assert_int_equal(run_read_train(r, &err), STATUS_OK);
}

static status pool(run_list *list, const told *executed, size_t count, bool apart, error *err) {
    *list = (run_list){.execution_count = count};
    list->executions = memory_new(count, sizeof *list->executions);
    for (size_t i = 0; i < count; i++) read_told(&list->executions[i], &executed[i]);
    return pool_runs(list, apart, err);
}

static void times_are_geometric_means(void **state) {
    (void)state;
    const told executed[] = {
        {"a", "m", 1, 1, 1, 1.0}, {"b", "n", 1, 2, 1, 7},   {"a", "m", 1, 3, 1, 3.0},
        {"a", "m", 1, 4, 1, 1.5}, {"a", "m", 1, 5, 1, 2.0},
    };
    error err;
    run_list list;
    assert_int_equal(pool(&list, executed, 5, true, &err), STATUS_OK);
    assert_int_equal(list.count, 2);
    const run *a = &list.runs[0];
    assert_int_equal(a->execution_count, 4);
    assert_near(a->seconds_per_epoch, sqrt(3));
    assert_near(a->total_seconds, 10 * sqrt(3));
    assert_string_equal(a->folder, "folder 4"); // the lower of the two in the middle
    assert_string_equal(run_execution(a, 1)->folder, "folder 3");
    assert_near(list.runs[1].seconds_per_epoch, 7);

    const run *runs[] = {a, &list.runs[1]};
    const seed_group g = {.name = "g", .runs = runs, .count = 2};
    const run **executions;
    size_t count;
    seed_group_executions(&g, &executions, &count);
    assert_int_equal(count, 5);
    free(executions);
    assert_near(seed_group_mean(&g, metrics_find("seconds_per_epoch"), 0).mean,
                pow(1.0 * 3.0 * 1.5 * 2.0 * 7, 0.2));
    run_list_release(&list);
}

static void expect_unlike(const told *executed, size_t count, const char *message) {
    error err;
    run_list list;
    assert_int_equal(pool(&list, executed, count, true, &err), STATUS_INPUT);
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
    run_list_release(&list);
}

static void unlike_executions_are_refused(void **state) {
    (void)state;
    const told threads[] = {{"a", "m", 2, 9, 1, 1}, {"b", "m", 1, 1, 1, 1}, {"a", "m", 1, 2, 1, 1}};
    expect_unlike(threads, 3, "'folder 9' and 'folder 2' are unlike: threads per rank 2 vs 1");
    // One that was resumed has no times to be pooled, whichever comes first.
    const told resumed[] = {{"a", "m", 1, 7, 2, 1}, {"a", "m", 1, 1, 1, 1}, {"a", "m", 1, 8, 2, 1}};
    expect_unlike(resumed, 2, "'folder 7' and 'folder 1' are unlike: 'folder 7' was resumed");
    expect_unlike(resumed + 1, 2, "'folder 1' and 'folder 8' are unlike: 'folder 8' was resumed");
    const told both[] = {resumed[0], resumed[2]};
    error err;
    run_list list;
    assert_int_equal(pool(&list, both, 2, true, &err), STATUS_OK);
    assert_int_equal(list.runs[0].execution_count, 2);
    assert_false(run_has_time(&list.runs[0]));
    run_list_release(&list);
}

static void other_models_are_a_finding(void **state) {
    (void)state;
    const told executed[] = {
        {"a", "m", 1, 1, 1, 1}, {"b", "m", 1, 2, 1, 1}, {"a", "x", 9, 3, 1, 1}};
    error err;
    run_list list;
    assert_int_equal(pool(&list, executed, 3, true, &err), STATUS_FINDING);
    assert_non_null(strstr(err.message, "'folder 1' in m, 'folder 3' in x"));
    run_list_release(&list);
}

static void the_baseline_is_separate(void **state) {
    (void)state;
    const told executed[] = {{"a", "m", 1, 1, 1, 1}, {"a", "m", 1, 2, 1, 2}};
    error err;
    for (int apart = 0; apart < 2; apart++) {
        run_list list = {.execution_count = 2};
        list.executions = memory_new(2, sizeof *list.executions);
        for (size_t i = 0; i < 2; i++) read_told(&list.executions[i], &executed[i]);
        list.executions[0].baseline = true;
        assert_int_equal(pool_runs(&list, apart, &err), STATUS_OK);
        assert_int_equal(list.count, apart ? 2 : 1);
        run_list_release(&list);
    }
}

// Manifests without a key do not identify their run.
static void without_keys_nothing_is_pooled(void **state) {
    (void)state;
    const told executed[] = {{"''", "m", 1, 1, 1, 1}, {"''", "x", 1, 2, 1, 1}};
    error err;
    run_list list;
    assert_int_equal(pool(&list, executed, 2, false, &err), STATUS_OK);
    assert_int_equal(list.count, 2);
    run_list_release(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_geometric_means),
        cmocka_unit_test(unlike_executions_are_refused),
        cmocka_unit_test(other_models_are_a_finding),
        cmocka_unit_test(the_baseline_is_separate),
        cmocka_unit_test(without_keys_nothing_is_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
