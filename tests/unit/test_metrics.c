// SPDX-License-Identifier: MIT
// The table of metrics, their values in a run, and strategies' own figures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/execution.h"
#include "results/figures.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

// ---- The table ----

static void check_head(const metric_row *m) {
    static const char *const units[] = {"fraction", "s",   "ms", "µs", "x",
                                        "bytes",    "MHz", "W",  "°C", ""};
    bool known = false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        known |= strcmp(m->unit, units[i]) == 0;
    if (!known) fail_msg("'%s': unit '%s'", m->name, m->unit);
    assert_true(m->style.scale != 0);
    assert_non_null(m->style.sign);
    assert_ptr_equal(joint_metrics_find(m->name), m);
    // "#" stands for a member, and for nothing else.
    assert_int_equal(m->over != OVER_NOTHING, strchr(m->name, '#') != NULL);
}

static void rows_of_runs(void **state) {
    (void)state;
    size_t count;
    const metric_row *table = metrics_table(&count);
    for (size_t i = 0; i < count; i++) {
        const metric_row *m = &table[i];
        check_head(m);
        assert_true(m->key || m->tested);
        assert_true(m->kind != METRIC_JOINT);
        assert_int_equal(m->file != FILE_NONE, m->how && m->counts);
        if (m->file != FILE_NONE) assert_true(m->tolerance > 0 && (m->value || m->recompute));
        for (size_t k = 0; k < i; k++) assert_string_not_equal(m->name, table[k].name);
    }
}

static void rows_of_several_runs(void **state) {
    (void)state;
    size_t count;
    const joint_metric *table = joint_metrics_table(&count);
    for (size_t i = 0; i < count; i++) {
        check_head(&table[i].head);
        assert_int_equal(table[i].head.kind, METRIC_JOINT);
        assert_non_null(metrics_find(table[i].part));
        assert_null(metrics_find(table[i].head.name));
        assert_non_null(table[i].value);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(table[i].head.name, table[k].head.name);
    }
}

static void names_find_their_rows(void **state) {
    (void)state;
    static const struct {
        const char *name, *row;
    } cases[] = {
        {"accuracy", "accuracy"},
        {"step.load", "step.#"},
        {"step.wall", "step.wall"},
        {"dp.bytes.reduce", "dp.bytes.#"},
        {"dp.reduce", "dp.#"},
        {"dp.sum", "dp.sum"},
        {"class.cat", "class.#"},
        {"class.cat.samples", "class.#.samples"},
        {"confusion.cat.dog", "confusion.#"},
        {"epochs.12.loss", "epochs.#.loss"},
        {"execution.3.total_seconds", "execution.#.total_seconds"},
        {"mean_step.load", "step.#"},
        {"mean_accuracy", "accuracy"},
        {"time_ratio", "time_ratio"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(joint_metrics_find(cases[i].name)->name, cases[i].row);
    static const char *const none[] = {"", "acuracy", "epochs.1", "class.", "mean_", "step"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(joint_metrics_find(none[i]));
}

// ---- In a run ----

// Returns a run with that execution and two epochs of 10 steps, of which the first does not count;
// release it.
static run make_run(const char *source) {
    static const double phase[RUN_PHASES] = {0.1, 0.05, 0.3, 0.3, 0.1, 0.1, 0.05};
    error err;
    run r;
    run_init(&r);
    assert_int_equal(yaml_read_text(source, strlen(source), "m.yaml", &r.train, &err), STATUS_OK);
    r.folder = strdup("somewhere");
    r.name = strdup("r");
    r.epochs = calloc(2, sizeof *r.epochs);
    r.epochs[0].seconds = 9;
    r.epochs[1].seconds = 1;
    for (int p = 0; p < RUN_PHASES; p++) {
        r.epochs[0].phase[p] = 9;
        r.epochs[1].phase[p] = phase[p];
    }
    r.epoch_count = 2;
    r.steps = 20;
    r.steps_per_epoch = 10;
    r.segments = 1;
    return r;
}

static figure_list figures_well(const run *r) {
    error err;
    figure_list list = {0};
    assert_int_equal(metrics_check(r, &err), STATUS_OK);
    figures_of_run(&list, r);
    return list;
}

static double value_of(const figure_list *list, const char *metric) {
    const figure *f = figures_of(list, "r", metric);
    if (!f) fail_msg("no figure is named 'r.%s'", metric);
    return f->value;
}

static void replicas(void **state) {
    (void)state;
    run r = make_run("run: {execution: {strategy: dp, "
                     "seconds_per_step: {broadcast: 0.01, scatter: 0.02, forward: 0.1, "
                     "gather: 0.005, loss: 0.001, scatter_gradient: 0.004, backward: 0.2, "
                     "reduce: 0.04, update: 0.02}, "
                     "bytes_per_step: {broadcast: 100, scatter: 20, gather: 3, "
                     "scatter_gradient: 3, reduce: 101}, "
                     "replicas: [{busy: 0.75, waiting: 0.05, bytes: 7}, "
                     "{busy: 0.5, waiting: 0.5, bytes: 8}]}}");
    assert_int_equal(execution_kind_of(&r), EXECUTION_REPLICAS);
    assert_int_equal(execution_devices(&r)->count, 2);
    figure_list list = figures_well(&r);
    assert_near(value_of(&list, "replica.0.copying"), 0.2);
    assert_true(value_of(&list, "replica.1.copying") == 0);
    assert_near(value_of(&list, "replica.1.bytes"), 8);
    assert_null(figures_of(&list, "r", "replica.1.bytes_sent_per_step"));
    assert_near(value_of(&list, "dp.sum"), 400);
    assert_near(value_of(&list, "dp.loss"), 1);
    assert_near(value_of(&list, "dp.bytes"), 227);
    assert_near(value_of(&list, "dp.master_alone"), (0.001 + 0.004 + 0.04 + 0.02) / 0.4);
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) {
        const bool crosses = strstr("broadcast scatter gather scatter_gradient reduce",
                                    execution_activity(k)) != NULL;
        char metric[48];
        assert_int_equal(execution_bytes(&r, k) >= 0, crosses);
        snprintf(metric, sizeof metric, "dp.bytes.%s", execution_activity(k));
        assert_int_equal(figures_of(&list, "r", metric) != NULL, crosses);
    }
    figures_release(&list);
    run_release(&r);
}

// A resumed run's kind is that of its last segment; without times nothing is shown.
static void stages_of_plain_and_resumed_runs(void **state) {
    (void)state;
    static const char segment[] = "{strategy: mp, stages: [{first: conv1, last: pool1, busy: 0.5, "
                                  "waiting: 0.25, bytes_sent_per_step: 12, bytes: 9}], "
                                  "micro_batches: 3.5, bubble_measured: 0.3, "
                                  "bubble_predicted: 0.2}";
    char source[512];
    snprintf(source, sizeof source, "run: {execution: %s}", segment);
    run r = make_run(source);
    figure_list list = figures_well(&r);
    assert_near(value_of(&list, "stage.0.bytes_sent_per_step"), 12);
    assert_near(value_of(&list, "stage.0.copying"), 0.25);
    assert_near(value_of(&list, "micro_batches"), 3.5);
    assert_near(value_of(&list, "bubble_measured"), 0.3);
    figures_release(&list);
    run_release(&r);
    snprintf(source, sizeof source, "run: {execution: [{strategy: single}, %s]}", segment);
    r = make_run(source);
    r.segments = 2;
    assert_int_equal(execution_kind_of(&r), EXECUTION_STAGES);
    assert_string_equal(yaml_text_at(execution_devices(&r)->items[0], "first"), "conv1");
    assert_string_equal(yaml_text_at(execution_devices(&r)->items[0], "last"), "pool1");
    assert_false(execution_has_times(&r));
    list = figures_well(&r);
    assert_null(figures_of(&list, "r", "stage.0.busy"));
    assert_null(figures_of(&list, "r", "bubble_measured"));
    figures_release(&list);
    run_release(&r);
}

static void ranks_and_plain_runs(void **state) {
    (void)state;
    run r = make_run("run: {execution: {bytes_sent_per_step: 44, vectors_per_reduction: 2}}");
    assert_int_equal(execution_kind_of(&r), EXECUTION_RANKS);
    assert_null(execution_devices(&r));
    figure_list list = figures_well(&r);
    assert_near(value_of(&list, "vectors_per_reduction"), 2);
    assert_near(value_of(&list, "bytes_sent_per_step"), 44);
    figures_release(&list);
    run_release(&r);
    r = make_run("run: {execution: {strategy: single}}");
    assert_int_equal(execution_kind_of(&r), EXECUTION_PLAIN);
    run_release(&r);
}

// Manifests from before the activities were timed, and before replicas reported their waits.
static void absent_values_have_no_figures(void **state) {
    (void)state;
    static const char *const absent[] = {"replica.0.waiting", "replica.0.copying",
                                         "replica.0.bytes",   "dp.sum",
                                         "dp.master_alone",   "dp.bytes.broadcast"};
    run r = make_run("run: {execution: {replicas: [{busy: 0.5}]}}");
    figure_list list = figures_well(&r);
    assert_near(value_of(&list, "replica.0.busy"), 0.5);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(figures_of(&list, "r", absent[i]));
    assert_true(isnan(execution_step_seconds(&r)) && isnan(execution_master_share(&r)));
    assert_int_equal(execution_bytes(&r, 0), -1);
    figures_release(&list);
    run_release(&r);
}

static void bad_values_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"{replicas: 3}", "{replicas: [{busy: much}]}",
                                        "{stages: [{bytes: -1}]}", "{vectors_per_reduction: [1]}",
                                        "{replicas: [], bytes_per_step: {reduce: 0.5}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char source[128];
        error err;
        snprintf(source, sizeof source, "run: {execution: %s}", wrong[i]);
        run r = make_run(source);
        assert_int_equal(metrics_check(&r, &err), STATUS_INPUT);
        assert_non_null(strstr(err.message, "m.yaml:1:"));
        run_release(&r);
    }
}

// Phases of the second epoch: 1 s in all.
static void mean_use(void **state) {
    (void)state;
    run r = make_run("run: {execution: {strategy: single}}");
    assert_true(execution_has_times(&r));
    figure_list list = figures_well(&r);
    assert_near(value_of(&list, "copying"), 0.15);
    assert_near(value_of(&list, "exposed_comm"), 0.1);
    assert_near(value_of(&list, "waiting"), 0.1);
    assert_near(value_of(&list, "busy"), 0.75);
    assert_near(value_of(&list, "step.load"), 10);
    assert_near(value_of(&list, "step.rest"), 90);
    assert_near(value_of(&list, "step.sum"), 100);
    figures_release(&list);
    r.segments = 2;
    assert_false(execution_has_times(&r));
    list = figures_well(&r);
    assert_null(figures_of(&list, "r", "busy"));
    assert_true(isnan(value_of(&list, "step.load")));
    figures_release(&list);
    r.segments = 1;
    r.epochs[1].phase[RUN_BACKWARD] = NAN;
    assert_false(execution_has_times(&r));
    run_release(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_runs),
        cmocka_unit_test(rows_of_several_runs),
        cmocka_unit_test(names_find_their_rows),
        cmocka_unit_test(replicas),
        cmocka_unit_test(stages_of_plain_and_resumed_runs),
        cmocka_unit_test(ranks_and_plain_runs),
        cmocka_unit_test(absent_values_have_no_figures),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(mean_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
