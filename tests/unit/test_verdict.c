// SPDX-License-Identifier: MIT
// Verdicts on two sides: every rule of verdict.h, from manifests to words.
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
#include "base/text.h"
#include "results/compare.h"
#include "results/execution.h"

// Describes one execution.
typedef struct told {
    int seed, start; // start: a day
    double seconds;  // per epoch
    double accuracy;
    const char *more; // YAML of its execution
} told;

enum { RUNS_MAX = 12 };

// One side: a group, each of whose runs was executed once.
typedef struct arm {
    run runs[RUNS_MAX];
    const run *pointers[RUNS_MAX];
    seed_group group;
} arm;

static void add_run(arm *a, const told *t, const char *head) {
    char manifest[1024];
    error err = {0};
    run *r = &a->runs[a->group.count];
    run_init(r);
    snprintf(manifest, sizeof manifest,
             "{%s, inputs: [{path: train.st.zst, content: t}, {path: test.st.zst, content: e}], "
             "outputs: [{path: model.st.zst, content: m-%c-%d-%g}], parameters: {seed: %d, epochs: "
             "2}, run: {host: h, cores: 2, start: 2026-01-%02d, execution: {world_size: 1, "
             "threads: 2%s}}, results: {seconds_per_epoch: %g, total_seconds: %g, test_accuracy: "
             "%g, epochs: [{seconds: %g}, {seconds: %g}]}}",
             head, head[strlen(head) - 1], t->seed, t->accuracy, t->seed, t->start,
             t->more ? t->more : "", t->seconds, 2 * t->seconds, t->accuracy, t->seconds,
             t->seconds);
    if (yaml_read_text(manifest, strlen(manifest), "m.yaml", &r->train, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    r->name = memory_string("run");
    r->folder = memory_string("folder");
    if (run_read_train(r, &err) != STATUS_OK) fail_msg("%s", err.message);
    r->test_samples = 1000;
    a->pointers[a->group.count++] = r;
}

static arm *make_arm(const char *head, const told *t, size_t count) {
    arm *a = memory_new(1, sizeof *a);
    a->group = (seed_group){.name = head, .runs = a->pointers};
    for (size_t i = 0; i < count; i++) add_run(a, &t[i], head);
    return a;
}

static void release_arm(arm *a) {
    for (size_t i = 0; i < a->group.count; i++) run_release(&a->runs[i]);
    free(a);
}

static comparison compare_told(const told *subject, size_t n, const told *baseline, size_t m) {
    error err = {0};
    comparison c;
    arm *a = make_arm("version: 1, tool: a", subject, n);
    arm *b = make_arm("version: 1, tool: b", baseline, m);
    if (compare(&a->group, &b->group, NULL, &c, &err) != STATUS_OK) fail_msg("%s", err.message);
    comparison_release(&c);
    release_arm(a);
    release_arm(b);
    return c;
}

#define COMPARE(subject, baseline)                                       \
    compare_told(subject, sizeof(subject) / sizeof *(subject), baseline, \
                 sizeof(baseline) / sizeof *(baseline))

// ---- Time ----

// Of executions in which two arms took turns.
static verdict on_turns(const double *subject, const double *baseline, size_t n, bool simulated,
                        estimate *ratio) {
    double logs[2][RUNS_MAX];
    for (size_t i = 0; i < n; i++) {
        logs[0][i] = log(subject[i]);
        logs[1][i] = log(baseline[i]);
    }
    const mean_estimate longer = statistics_pairs(logs[0], logs[1], n);
    return verdict_on_turns(&longer, n, simulated, ratio);
}

static void three_executions_make_a_verdict(void **state) {
    (void)state;
    const double slow[] = {2.0, 2.02, 1.98}, quick[] = {1.0, 0.99, 1.01};
    estimate ratio;
    verdict v = on_turns(slow, quick, 3, false, &ratio);
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_int_equal(v.test, TEST_TURNS);
    assert_true(fabs(ratio.value - 0.5) < 0.001 && ratio.range.high < 0.53);
    v = on_turns(quick, slow, 3, false, &ratio);
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_true(ratio.value > 1.9);
    v = on_turns(slow, quick, 2, false, &ratio);
    assert_int_equal(v.subject, 2);
    assert_int_equal(v.test, TEST_NONE);
    assert_int_equal(v.missing, MISSING_EXECUTIONS);
}

// 30 % more or less from run to run: the result is unknown, and not "the same".
static void a_wide_interval_is_undecided(void **state) {
    (void)state;
    const double one[] = {1.0, 1.3, 0.8}, other[] = {1.2, 0.9, 1.0};
    estimate ratio;
    const verdict v = on_turns(one, other, 3, false, &ratio);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_true(v.p > 0.9);
}

static void within_the_margin(void **state) {
    (void)state;
    const double one[] = {1.0, 1.002, 0.998}, same[] = {1.001, 1.003, 0.997},
                 more[] = {1.01, 1.012, 1.008};
    estimate ratio;
    assert_int_equal(on_turns(same, one, 3, false, &ratio).kind, VERDICT_SAME);
    assert_int_equal(on_turns(more, one, 3, false, &ratio).kind, VERDICT_SMALL);
    assert_true(fabs(1 / ratio.value - 1.01) < 0.0005);
}

// The machine slows down from execution to execution by far more than the 2 % between the two arms.
static void executions_are_pairs(void **state) {
    (void)state;
    double one[5], other[5];
    estimate ratio;
    for (int i = 0; i < 5; i++) {
        const double machine = 1 + 0.2 * i, jitter = 0.001 * (i % 2);
        one[i] = machine * (1.02 + jitter);
        other[i] = machine;
    }
    const verdict v = on_turns(one, other, 5, false, &ratio);
    assert_true(verdict_is_difference(&v));
}

// A change of the machine would look like a difference, however the executions are mixed.
static void whole_executions_give_no_verdict(void **state) {
    (void)state;
    const told before[] = {{1, 1, 2.0, 0.7, 0}, {1, 2, 2.02, 0.7, 0}, {1, 3, 1.98, 0.7, 0}};
    const told after[] = {{1, 4, 1.0, 0.7, 0}, {1, 5, 1.01, 0.7, 0}, {1, 6, 0.99, 0.7, 0}};
    const told mixed[] = {{1, 1, 1.0, 0.7, 0}, {1, 2, 1.01, 0.7, 0}, {1, 3, 0.99, 0.7, 0}};
    comparison c = COMPARE(after, before);
    assert_int_equal(c.time.kind, VERDICT_NONE);
    assert_int_equal(c.time.missing, MISSING_TURNS);
    assert_true(fabs(c.speedup.value - 2) < 0.001 && isnan(c.speedup.range.low));
    assert_true(c.spread.low > 1.95 && c.spread.high < 2.05);
    assert_true(fabs(c.seconds.value + 1) < 1e-6 && isnan(c.seconds.range.low));
    assert_true(fabs(c.total.value + 2) < 1e-6 && isnan(c.total.range.low));
    assert_int_equal(COMPARE(mixed, before).time.missing, MISSING_TURNS);
}

#define DISTURBED                                                                                \
    ", machine: {wall_seconds: 10, cpu_seconds: 5.4, waited_seconds: 14.6, others_seconds: 14, " \
    "cores: 2}"
#define QUIET                                                                                   \
    ", machine: {wall_seconds: 10, cpu_seconds: 19, waited_seconds: 0.1, others_seconds: 0.2, " \
    "cores: 2}"

#define STOLEN                                                                                \
    ", machine: {wall_seconds: 10, cpu_seconds: 13, waited_seconds: 0.1, others_seconds: 7, " \
    "stolen_seconds: 6.9, cores: 2}"
#define ONE_CORE ", machine: {wall_seconds: 10, cpu_seconds: 10, cores: 1}"

// None is dropped.
static void disturbed_executions_count(void **state) {
    (void)state;
    const told slow[] = {{1, 1, 2.9, 0.7, DISTURBED},
                         {1, 2, 2.5, 0.7, QUIET},
                         {1, 3, 2.4, 0.7, QUIET},
                         {1, 4, 2.6, 0.7, QUIET}};
    const told quick[] = {
        {1, 1, 1.0, 0.7, QUIET}, {1, 2, 1.01, 0.7, QUIET}, {1, 3, 1, 0.7, DISTURBED}};
    const double expected = pow(2.9 * 2.5 * 2.4 * 2.6, 0.25) / cbrt(1.01);
    assert_true(fabs(COMPARE(quick, slow).speedup.value - expected) < 1e-6);
}

// The kernel counts a thread as running while a hypervisor has taken its processor.
static void time_taken_by_a_hypervisor_is_a_disturbance(void **state) {
    (void)state;
    const told slow[] = {{1, 1, 1.50, 0.7, STOLEN}};
    arm *a = make_arm("version: 1, tool: a", slow, 1);
    const execution_load u = execution_load_of(&a->runs[0]);
    assert_true(execution_is_disturbed(&u));
    release_arm(a);
}

// Two threads of a run that was bound to one of the two cores.
static void cores_outside_the_affinity_do_not_count(void **state) {
    (void)state;
    const told bound[] = {
        {1, 1, 2.0, 0.7, ONE_CORE}, {1, 2, 2.02, 0.7, ONE_CORE}, {1, 3, 1.98, 0.7, ONE_CORE}};
    const told quick[] = {{1, 1, 1.0, 0.7, QUIET}, {1, 2, 1.01, 0.7, QUIET}, {1, 3, 1, 0.7, QUIET}};
    const comparison c = COMPARE(bound, quick);
    assert_true(c.simulated && c.crowded);
}

static bool disturbed(double wall, double cpu, double waited, double others, double cores) {
    const execution_load u = {wall, cpu, waited, others, cores, NAN};
    return execution_is_disturbed(&u);
}

static void signs_of_a_disturbance(void **state) {
    (void)state;
    assert_true(disturbed(10, 5.4, 14.6, 14, 2));
    assert_false(disturbed(10, 19.8, 0.1, 0.1, 2));
    // Four ranks on two cores wait for each other.
    assert_false(disturbed(10, 19.5, 20, 0.3, 2));
    assert_true(disturbed(10, 14, 25, 5.5, 2));
    // Another process on an idle core.
    assert_false(disturbed(10, 9.9, 0.05, 9.5, 16));
    // Too short for a clock that ticks.
    assert_false(disturbed(0.05, 0.08, 0.01, 0.03, 2));
    // If the waiting time is unknown: were all processors used?
    assert_true(disturbed(10, 10, NAN, 9.9, 2));
    assert_false(disturbed(10, 10, NAN, 5, 2));
    // An old manifest has no figures.
    assert_false(disturbed(NAN, NAN, NAN, NAN, NAN));
}

static void a_simulated_arm_is_neither_faster_nor_slower(void **state) {
    (void)state;
    const double many[] = {1.20, 1.21, 1.19}, one[] = {1.0, 0.99, 1.01};
    estimate ratio;
    assert_int_equal(on_turns(many, one, 3, true, &ratio).kind, VERDICT_COST);
    assert_true(1 / ratio.range.high > 1.14 && 1 / ratio.range.low < 1.27);
}

// ---- Accuracy ----

// Three timings of one seed are one model: the result was p = 0.
static void timings_are_not_seeds(void **state) {
    (void)state;
    const told one[] = {{1, 1, 1, 0.70, 0}, {1, 2, 1, 0.70, 0}, {1, 3, 1, 0.70, 0}};
    const told other[] = {{1, 1, 1, 0.80, 0}, {1, 2, 1, 0.80, 0}, {1, 3, 1, 0.80, 0}};
    comparison c = COMPARE(one, other);
    assert_int_equal(c.accuracy.missing, MISSING_SEEDS);
    assert_true(isnan(c.accuracy.p));
    assert_true(fabs(c.accuracy_difference.value + 0.1) < 1e-12);
}

static void seeds_are_pairs(void **state) {
    (void)state;
    const told one[] = {{1, 1, 1, 0.75, 0}, {2, 2, 1, 0.76, 0}, {3, 3, 1, 0.77, 0}};
    const told better[] = {{1, 1, 1, 0.80, 0}, {2, 2, 1, 0.82, 0}, {3, 3, 1, 0.84, 0}};
    const told alike[] = {{1, 1, 1, 0.751, 0}, {2, 2, 1, 0.760, 0}, {3, 3, 1, 0.769, 0}};
    const told mixed[] = {{1, 1, 1, 0.80, 0}, {2, 2, 1, 0.71, 0}, {3, 3, 1, 0.79, 0}};
    verdict v = COMPARE(better, one).accuracy;
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_int_equal(v.test, TEST_SEEDS);
    assert_true(fabs(v.p - 0.0091) < 0.0001);
    v = COMPARE(alike, one).accuracy;
    assert_int_equal(v.kind, VERDICT_SAME);
    assert_int_equal(v.test, TEST_SEEDS);
    assert_true(fabs(v.p - 1) < 0.0005);
    assert_int_equal(COMPARE(mixed, one).accuracy.kind, VERDICT_UNDECIDED);
    // By chance the same difference three times: as certain as a whole sample allows, not p = 0.
    const told shifted[] = {{1, 1, 1, 0.751, 0}, {2, 2, 1, 0.761, 0}, {3, 3, 1, 0.771, 0}};
    v = COMPARE(shifted, one).accuracy;
    assert_true(v.p > 0.01 && v.within);
    // Without the number of samples, not even that.
    const double before[] = {0.70, 0.71, 0.72}, after[] = {0.71, 0.72, 0.73};
    estimate difference;
    const verdict unknown = verdict_on_seeds(after, before, 3, -1, &difference);
    assert_int_equal(unknown.missing, MISSING_SEEDS);
    assert_true(isnan(unknown.p) && isnan(difference.range.low));
}

// 91, 90 and 94 % against 33, 45 and 67 %: three seeds of each do not tell them apart, and the
// verdict says how many would.
static void undecided_seeds_say_how_many_decide(void **state) {
    (void)state;
    const double best[] = {0.91, 0.90, 0.94}, other[] = {0.33, 0.45, 0.67};
    estimate difference;
    // Pairs: differences of 58, 45 and 27 points, so t = 43.33 / (15.57 / sqrt 3) = 4.82.
    verdict v = verdict_on_seeds(other, best, 3, 10000, &difference), same = v;
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_true(fabs(v.p - 0.0404) < 0.0005);
    assert_int_equal(verdict_seeds_needed(&v), 0);
    verdict *family[] = {&v, &same};
    verdict_correct(family, 2);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_true(fabs(difference.value + 0.4333) < 0.0001);
    // 2.78 sqrt(4) = 5.57 is above t(0.9875, 3) + t(0.8, 3) = 4.18 + 0.98.
    assert_int_equal(verdict_seeds_needed(&v), 4);
    // The same accuracies of other seeds: Welch's test.
    v = same = verdict_on_other_seeds(other, 3, best, 3, 10000, &difference);
    assert_int_equal(v.test, TEST_APART);
    assert_true(fabs(difference.value + 0.4333) < 0.0001);
    verdict_correct(family, 2);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_true(verdict_seeds_needed(&v) >= 4 && verdict_seeds_needed(&v) <= 5);
    // Closer than the margin: found to be the same, with more seeds than now.
    const double a[] = {0.7010, 0.7042, 0.6980}, b[] = {0.7000, 0.7000, 0.7000};
    v = verdict_on_seeds(a, b, 3, 10000, &difference);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    const size_t needed = verdict_seeds_needed(&v);
    assert_true(needed > 3 && needed < 30);
    // At the margin itself neither is ever found.
    const double c[] = {0.7050, 0.9050, 0.5050};
    v = verdict_on_seeds(c, b, 3, 10000, &difference);
    assert_int_equal(verdict_seeds_needed(&v), 0);
}

static void other_seeds_are_two_means(void **state) {
    (void)state;
    const told one[] = {{1, 1, 1, 0.75, 0}, {2, 2, 1, 0.76, 0}, {3, 3, 1, 0.77, 0}};
    const told better[] = {{4, 1, 1, 0.80, 0}, {5, 2, 1, 0.81, 0}, {6, 3, 1, 0.82, 0}};
    const told few[] = {{4, 1, 1, 0.80, 0}, {5, 2, 1, 0.81, 0}};
    const verdict v = COMPARE(better, one).accuracy;
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_int_equal(v.test, TEST_APART);
    assert_int_equal(v.subject, 3);
    // 0.05 / sqrt(2 * 0.01^2 / 3) = 6.12 with 4 degrees of freedom.
    assert_true(fabs(v.p - 0.0036) < 0.0001);
    assert_int_equal(COMPARE(few, one).accuracy.missing, MISSING_SEEDS);
}

static void one_seed_is_about_two_models(void **state) {
    (void)state;
    estimate difference = {-0.07, {NAN, NAN}};
    verdict v = verdict_on_models(100, 800, 10000, &difference);
    assert_int_equal(v.kind, VERDICT_DIFFERENT);
    assert_true(verdict_is_of_models(&v));
    assert_true(difference.range.low < -0.07 && difference.range.high > -0.08);
    v = verdict_on_models(3, 2, 10000, &difference);
    assert_int_equal(v.kind, VERDICT_SAME);
    v = verdict_on_models(30, 25, 1000, &difference);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
}

// ---- Many tests ----

static void holm_corrects_a_table(void **state) {
    (void)state;
    const double p[] = {0.01, 0.04, NAN, 0.03, 0.2};
    verdict v[5], *family[5];
    for (int i = 0; i < 5; i++) {
        v[i] = verdict_none(isnan(p[i]) ? MISSING_SEEDS : MISSING_NOTHING);
        v[i].p = v[i].adjusted = p[i];
        v[i].kind = VERDICT_DIFFERENT;
        family[i] = &v[i];
    }
    v[2].kind = VERDICT_NONE;
    verdict_correct(family, 5);
    // 4 · 0.01, then 3 · 0.03, then no less than the one before.
    const double adjusted[] = {0.04, 0.09, NAN, 0.09, 0.2};
    for (int i = 0; i < 5; i++) {
        if (i == 2) continue;
        assert_true(fabs(v[i].adjusted - adjusted[i]) < 1e-12);
        assert_int_equal(v[i].tests, 4);
        assert_int_equal(v[i].kind, i == 0 ? VERDICT_DIFFERENT : VERDICT_UNDECIDED);
    }
    assert_int_equal(v[2].kind, VERDICT_NONE);
    // Equal p-values count alike.
    v[0].p = v[1].p = v[3].p = v[4].p = 0.02;
    verdict_correct(family, 5);
    for (int i = 0; i < 5; i++)
        if (i != 2) assert_true(fabs(v[i].adjusted - 0.08) < 1e-12);
}

// ---- Like for like ----

// Returns them as "OF A vs B; OF", NULL if there are none; releases both.
static char *reasons_of(arm *a, arm *b, const varied_keys *varied) {
    reason_list unlike = {0};
    text out = {0};
    like_for_like(&a->runs[0], &b->runs[0], varied, false, &unlike);
    for (size_t i = 0; i < unlike.count; i++) {
        const reason *r = &unlike.items[i];
        text_format(&out, r->a ? "%s%s %s vs %s" : "%s%s", i ? "; " : "", r->of, r->a, r->b);
    }
    reasons_release(&unlike);
    release_arm(a);
    release_arm(b);
    return out.length ? text_take(&out) : NULL;
}

static char *reasons_between(const char *head, const char *other, const varied_keys *varied) {
    const told one = {1, 1, 1, 0.7, NULL};
    return reasons_of(make_arm(head, &one, 1), make_arm(other, &one, 1), varied);
}

static void different_builds_are_not_like_for_like(void **state) {
    (void)state;
    const char *keys[] = {"loader_workers"};
    const varied_keys varied = {keys, 1};
    char *reasons = reasons_between("version: 1", "version: 2", &varied);
    assert_string_equal(reasons, "build 1 vs 2");
    free(reasons);
    assert_null(reasons_between("version: 1", "version: 1", NULL));
}

static char *executed_apart(const char *one, const char *other, const varied_keys *varied) {
    const told left = {1, 1, 1, 0.7, one}, right = {1, 1, 1, 0.7, other};
    return reasons_of(make_arm("version: 1", &left, 1), make_arm("version: 1", &right, 1), varied);
}

// Closes `execution` and continues with `run`'s entries on the build.
#define BUILT(what) "}, " what ", rest: {a: 1"

static void the_compiled_code_counts(void **state) {
    (void)state;
    const struct {
        const char *one, *other, *expected;
    } cases[] = {
        {BUILT("sources: 1a"), BUILT("sources: 2b"), "sources 1a vs 2b"},
        {BUILT("sources: 1a"), "", "sources 1a vs ?"},
        {BUILT("compiler: gcc 12"), BUILT("compiler: gcc 13"), "compiler gcc 12 vs gcc 13"},
        {BUILT("flags: -O2"), BUILT("flags: -O3"), "compiler flags -O2 vs -O3"},
        {", isa: v3", ", isa: v4", "instruction set v3 vs v4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *reasons = executed_apart(cases[i].one, cases[i].other, NULL);
        assert_string_equal(reasons, cases[i].expected);
        free(reasons);
    }
}

static void keys_that_a_plan_varies_may_differ(void **state) {
    (void)state;
    const char *keys[] = {"world_size", "loader_workers"};
    const varied_keys varied = {keys, 2};
    char *reasons = executed_apart(", loader_workers: 0", ", loader_workers: 4", NULL);
    assert_string_equal(reasons, "loader workers 0 vs 4");
    free(reasons);
    assert_null(executed_apart(", loader_workers: 0", ", loader_workers: 4", &varied));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_executions_make_a_verdict),
        cmocka_unit_test(a_wide_interval_is_undecided),
        cmocka_unit_test(within_the_margin),
        cmocka_unit_test(executions_are_pairs),
        cmocka_unit_test(whole_executions_give_no_verdict),
        cmocka_unit_test(disturbed_executions_count),
        cmocka_unit_test(time_taken_by_a_hypervisor_is_a_disturbance),
        cmocka_unit_test(cores_outside_the_affinity_do_not_count),
        cmocka_unit_test(signs_of_a_disturbance),
        cmocka_unit_test(a_simulated_arm_is_neither_faster_nor_slower),
        cmocka_unit_test(timings_are_not_seeds),
        cmocka_unit_test(seeds_are_pairs),
        cmocka_unit_test(undecided_seeds_say_how_many_decide),
        cmocka_unit_test(other_seeds_are_two_means),
        cmocka_unit_test(one_seed_is_about_two_models),
        cmocka_unit_test(holm_corrects_a_table),
        cmocka_unit_test(different_builds_are_not_like_for_like),
        cmocka_unit_test(the_compiled_code_counts),
        cmocka_unit_test(keys_that_a_plan_varies_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
