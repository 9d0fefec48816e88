// SPDX-License-Identifier: MIT
// Verdicts on simulated times, through all steps of a report from manifests to a verdict: of pairs
// that do not differ, at most one in twenty may get a verdict of a difference; of pairs that differ
// by the margin, at most one in twenty may be called the same; a difference of 5 % must be found.
// tests/bench/calibrate measures verdicts on trainings that took turns, on a real machine.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/median.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "results/compare.h"
#include "results/run_list.h"
#include "results/statistics.h"

// The time of an epoch: 1 s, with a log-normal jitter; a linear drift over the run, normal from run
// to run; a deviation of the whole run, and of both runs of a round together; and, in a share of
// the epochs, a disturbance by other work of the machine.
typedef struct noise {
    double jitter, drift, between_runs, between_rounds; // standard deviations, of logarithms
    double disturbed, disturbance;                      // share of the epochs; up to so much longer
} noise;

typedef struct setting {
    int rounds, epochs; // the first epoch does not count, as in every report
    noise noise;
} setting;

enum {
    PAIRS = 120,
    RUNS_MAX = 10,
    EPOCHS_MAX = 32,
};

static const noise usual = {.jitter = 0.01, .drift = 0.01, .disturbed = 0.05, .disturbance = 0.2};

// Normal with variance 1, by Box and Muller's method.
static double normal(const random_stream *s, uint64_t draw) {
    double u = 1 - (double)random_uniform(s, 2 * draw), v = random_uniform(s, 2 * draw + 1);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static void draw_epochs(const random_stream *s, const setting *t, double *seconds) {
    const noise *n = &t->noise;
    double whole = n->between_runs * normal(s, 0), drift = n->drift * normal(s, 1);
    for (int e = 0; e < t->epochs; e++) {
        uint64_t draw = 2 + 2 * (uint64_t)e;
        double place = (double)e / (t->epochs - 1) - 0.5;
        bool disturbed = random_uniform(s, 2 * (draw + 1)) < n->disturbed;
        double more = disturbed ? n->disturbance * random_uniform(s, 2 * (draw + 1) + 1) : 0;
        seconds[e] = exp(whole + drift * place + n->jitter * normal(s, draw)) * (1 + more);
    }
}

// ---- Runs, as in their manifests ----

static yaml_node *write_manifest(const char *name, int seed, const double *seconds, int epochs) {
    error err = {0};
    yaml_node *root = NULL;
    double total = 0;
    text t = {0};
    double timed[EPOCHS_MAX];
    for (int e = 0; e < epochs; e++) total += timed[e] = seconds[e];
    const double middle = median(timed + 1, (size_t)epochs - 1);
    text_format(&t,
                "{tool: train-single, version: x, inputs: [{path: train.st.zst, content: abc}],\n");
    text_format(&t, "parameters: {name: %s, seed: %d, epochs: %d, global_batch: 64},\n", name, seed,
                epochs);
    text_format(&t, "run: {host: h, cpu: c, cores: 2, execution: {world_size: 1, threads: 2}},\n");
    text_format(&t, "results: {steps: %d, total_seconds: %.9g, seconds_per_epoch: %.9g, epochs: [",
                epochs, total, middle);
    for (int e = 0; e < epochs; e++)
        text_format(&t, "%s{seconds: %.9g}", e ? ", " : "", seconds[e]);
    text_append(&t, "]}}\n");
    if (yaml_read_text(text_string(&t), t.length, "manifest", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    text_release(&t);
    return root;
}

static void add_run(run_list *list, const char *name, int seed, const double *seconds, int epochs) {
    error err = {0};
    run *x = &list->executions[list->execution_count++]; // owns all but the run's name
    run_init(x);
    x->train = write_manifest(name, seed, seconds, epochs);
    x->folder = memory_string("train");
    if (run_read_train(x, &err) != STATUS_OK) fail_msg("%s", err.message);
    run *r = &list->runs[list->count++];
    *r = *x;
    r->name = memory_format("%s-%d", name, seed);
}

// The runs of both sides; those of the second side take `factor` times as long.
static void draw_pair(const setting *t, uint32_t pair, double factor, run_list *list) {
    *list = (run_list){.executions = memory_new(2 * RUNS_MAX, sizeof(run)),
                       .runs = memory_new(2 * RUNS_MAX, sizeof(run))};
    for (int i = 0; i < 2 * t->rounds; i++) {
        const random_stream s = {
            .seed = 11, .purpose = RANDOM_TRIAL, .layer = 2, .epoch = pair, .sample = (uint32_t)i};
        const random_stream round = {.seed = 12,
                                     .purpose = RANDOM_TRIAL,
                                     .layer = 2,
                                     .epoch = pair,
                                     .sample = (uint32_t)(i % t->rounds)};
        const double shared = exp(t->noise.between_rounds * normal(&round, 0));
        bool second = i >= t->rounds;
        double seconds[EPOCHS_MAX];
        draw_epochs(&s, t, seconds);
        for (int e = 0; e < t->epochs; e++) seconds[e] *= shared * (second ? factor : 1);
        add_run(list, second ? "b" : "a", 1 + i % t->rounds, seconds, t->epochs);
    }
}

// ---- Verdicts ----

static verdict judge(const setting *t, uint32_t pair, double factor, estimate *speedup) {
    error err = {0};
    run_list list;
    seed_group *groups;
    size_t count;
    comparison c;
    draw_pair(t, pair, factor, &list);
    seed_groups_make(&list, &groups, &count);
    assert_int_equal(count, 2);
    if (compare(&groups[1], &groups[0], NULL, &c, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_int_equal(c.unlike.count, 0);
    const verdict said = c.time;
    *speedup = c.speedup;
    comparison_release(&c);
    seed_groups_free(groups, count);
    run_list_release(&list);
    return said;
}

// Whether the verdict calls b slower (-1) or faster (1) than a, or finds no difference (0).
static int direction(const setting *t, uint32_t pair, double factor) {
    estimate speedup;
    const verdict v = judge(t, pair, factor, &speedup);
    assert_int_equal(v.missing, MISSING_NOTHING);
    assert_int_equal(v.test, t->rounds >= VERDICT_ROUNDS ? TEST_ROUNDS : TEST_WELCH);
    assert_true(speedup.range.low > 0); // there is an interval
    if (!verdict_is_difference(&v)) return 0;
    return speedup.value < 1 ? -1 : 1;
}

static void check(const setting *t) {
    int none = 0, found = 0;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        bool faster = pair % 2;
        none += direction(t, pair, 1) == 0;
        found += direction(t, PAIRS + pair, faster ? 1 / 1.05 : 1.05) == (faster ? 1 : -1);
    }
    print_message("%d × %d epochs: %d of %d not different, 5 %% found in %d\n", t->rounds,
                  t->epochs, none, PAIRS, found);
    assert_true(100 * none >= 95 * PAIRS);
    assert_true(100 * found >= 90 * PAIRS);
}

static void three_rounds_of_ten_epochs(void **state) {
    (void)state;
    check(&(setting){3, 10, usual});
}

static void three_runs_that_differ_as_a_whole(void **state) {
    (void)state;
    setting t = {3, 10, usual};
    t.noise.between_runs = 0.01;
    check(&t);
}

static void three_rounds_of_four_epochs_on_a_quiet_machine(void **state) {
    (void)state;
    check(&(setting){3, 4, {.jitter = 0.005, .drift = 0.005}});
}

// Ten rounds, between which the machine slows down and speeds up by 10 %: pairs cancel that.
static void rounds_that_differ(void **state) {
    (void)state;
    setting t = {10, 5, usual};
    t.noise.between_rounds = 0.1;
    check(&t);
}

// The number of pairs that are called the same, within the margin.
static int count_same(const setting *t, double factor) {
    int same = 0;
    estimate speedup;
    for (uint32_t pair = 0; pair < PAIRS; pair++) same += judge(t, pair, factor, &speedup).within;
    return same;
}

static void the_same_within_a_margin(void **state) {
    (void)state;
    const setting ten = {10, 5, {.jitter = 0.01, .between_runs = 0.01}};
    assert_true(100 * count_same(&ten, 1) >= 90 * PAIRS);
    // A wide interval is not "the same".
    const setting wide = {3, 5, {.jitter = 0.01, .between_runs = 0.05}};
    const double margins[] = {1 + VERDICT_TIME_MARGIN, 1 / (1 + VERDICT_TIME_MARGIN)};
    for (int i = 0; i < 2; i++) {
        assert_true(100 * count_same(&ten, margins[i]) <= 5 * PAIRS);
        assert_true(100 * count_same(&wide, margins[i]) <= 5 * PAIRS);
    }
}

// One or two runs cannot show how much the next one would differ: there is no verdict, however many
// epochs they have.
static void fewer_than_three_executions_give_no_verdict(void **state) {
    (void)state;
    for (int rounds = 1; rounds < VERDICT_EXECUTIONS; rounds++) {
        const setting t = {rounds, 20, usual};
        estimate speedup;
        const verdict v = judge(&t, 1, 2, &speedup);
        assert_int_equal(v.kind, VERDICT_NONE);
        assert_int_equal(v.missing, MISSING_EXECUTIONS);
        assert_true(speedup.value > 0.45 && speedup.value < 0.55);
        assert_true(isnan(speedup.range.low));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_rounds_of_ten_epochs),
        cmocka_unit_test(three_runs_that_differ_as_a_whole),
        cmocka_unit_test(three_rounds_of_four_epochs_on_a_quiet_machine),
        cmocka_unit_test(rounds_that_differ),
        cmocka_unit_test(the_same_within_a_margin),
        cmocka_unit_test(fewer_than_three_executions_give_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
