// What a strategy says of itself in run.execution, and the shares that follow from it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "results/execution.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

// A run with that execution; release it.
static run make_run(const char *text) {
    error err;
    run r;
    run_init(&r);
    assert_int_equal(yaml_read_text(text, strlen(text), "m.yaml", &r.train, &err), STATUS_OK);
    return r;
}

static execution read_well(const run *r) {
    error err;
    execution e;
    assert_int_equal(execution_read(r, &e, &err), STATUS_OK);
    return e;
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
    execution e = read_well(&r);
    assert_int_equal(e.kind, EXECUTION_REPLICAS);
    assert_int_equal(e.count, 2);
    assert_near(e.devices[0].copying, 0.2);
    assert_true(e.devices[1].copying == 0);
    assert_int_equal(e.devices[1].memory, 8);
    assert_int_equal(e.devices[1].bytes_sent, -1);
    assert_near(execution_step_seconds(&e), 0.4);
    assert_near(execution_master_share(&e), (0.001 + 0.004 + 0.04 + 0.02) / 0.4);
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) {
        const bool crosses = strstr("broadcast scatter gather scatter_gradient reduce",
                                    execution_activity(k)) != NULL;
        assert_int_equal(e.bytes[k] >= 0, crosses);
    }
    execution_release(&e);
    run_release(&r);
}

// Of a resumed run the last segment says what kind it was; without times nothing is shown.
static void stages_of_a_resumed_run(void **state) {
    (void)state;
    run r = make_run("run: {execution: [{strategy: single}, {strategy: mp, stages: "
                     "[{first: conv1, last: pool1, busy: 0.5, waiting: 0.25, "
                     "bytes_sent_per_step: 12, bytes: 9}], micro_batches: 3.5, "
                     "bubble_measured: 0.3, bubble_predicted: 0.2}]}");
    execution e = read_well(&r);
    assert_int_equal(e.kind, EXECUTION_STAGES);
    assert_string_equal(e.devices[0].first, "conv1");
    assert_string_equal(e.devices[0].last, "pool1");
    assert_int_equal(e.devices[0].bytes_sent, 12);
    assert_near(e.micro_batches, 3.5);
    assert_near(e.bubble_measured, 0.3);
    assert_false(execution_has_times(&r));
    execution_release(&e);
    run_release(&r);
}

static void ranks_and_plain_runs(void **state) {
    (void)state;
    run r = make_run("run: {execution: {bytes_sent_per_step: 44, vectors_per_reduction: 2}}");
    execution e = read_well(&r);
    assert_int_equal(e.kind, EXECUTION_RANKS);
    assert_near(e.vectors, 2);
    assert_int_equal(e.bytes_sent, 44);
    execution_release(&e);
    run_release(&r);
    r = make_run("run: {execution: {strategy: single}}");
    e = read_well(&r);
    assert_int_equal(e.kind, EXECUTION_PLAIN);
    execution_release(&e);
    run_release(&r);
}

// A manifest of before the activities were timed, and of before replicas said how long they wait.
static void what_is_absent_is_unknown(void **state) {
    (void)state;
    run r = make_run("run: {execution: {replicas: [{busy: 0.5}]}}");
    execution e = read_well(&r);
    assert_true(isnan(e.devices[0].waiting) && isnan(e.devices[0].copying));
    assert_true(isnan(execution_step_seconds(&e)) && isnan(execution_master_share(&e)));
    assert_int_equal(e.bytes[0], -1);
    assert_int_equal(e.devices[0].memory, -1);
    execution_release(&e);
    run_release(&r);
}

static void what_is_wrong_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"{replicas: 3}", "{replicas: [{busy: much}]}",
                                        "{stages: [{bytes: -1}]}", "{vectors_per_reduction: [1]}",
                                        "{replicas: [], bytes_per_step: {reduce: 0.5}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[128];
        error err;
        execution e;
        snprintf(text, sizeof text, "run: {execution: %s}", wrong[i]);
        run r = make_run(text);
        assert_int_equal(execution_read(&r, &e, &err), STATUS_INPUT);
        assert_non_null(strstr(err.message, "m.yaml:1:"));
        run_release(&r);
    }
}

// Two epochs of 10 steps; the first does not count. Phases of the second: 1 s in all.
static void mean_use(void **state) {
    (void)state;
    static const double phase[RUN_PHASES] = {0.1, 0.05, 0.3, 0.3, 0.1, 0.1, 0.05};
    run_epoch epochs[2] = {{.seconds = 9}, {.seconds = 1}};
    for (int p = 0; p < RUN_PHASES; p++) {
        epochs[0].phase[p] = 9;
        epochs[1].phase[p] = phase[p];
    }
    char folder[] = "somewhere";
    run r = make_run("run: {execution: {strategy: single}}");
    yaml_node *train = r.train;
    r.folder = folder;
    r.epochs = epochs;
    r.epoch_count = 2;
    r.steps = 20;
    r.segments = 1;
    assert_true(execution_has_times(&r));
    device_use use = execution_mean_use(&r);
    assert_near(use.copying, 0.15);
    assert_near(use.waiting, 0.1);
    assert_near(use.busy, 0.75);
    r.segments = 2;
    assert_false(execution_has_times(&r));
    assert_true(isnan(execution_mean_use(&r).busy));
    r.segments = 1;
    epochs[1].phase[3] = NAN;
    assert_false(execution_has_times(&r));
    yaml_free(train);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas),
        cmocka_unit_test(stages_of_a_resumed_run),
        cmocka_unit_test(ranks_and_plain_runs),
        cmocka_unit_test(what_is_absent_is_unknown),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(mean_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
