// SPDX-License-Identifier: MIT
// Verdicts on simulated times of whole trainings that took turns: of pairs that do not differ, at
// most one in twenty may get a verdict of a difference; of pairs that differ by the margin, at most
// one in twenty may be called the same; a difference of 5 % must be found. test_turns.c has short
// turns. tests/bench/calibrate measures verdicts on trainings that took turns, on a real machine.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "results/compare.h"
#include "results/turn_evidence.h"

// The time of an epoch: 1 s, with a log-normal jitter; a linear drift over the run, normal from run
// to run; a deviation of the whole run, and of both runs of an execution together; and, in a share
// of the epochs, a disturbance by other work of the machine.
typedef struct noise {
    double jitter, drift, between_runs, between_executions; // standard deviations, of logarithms
    double disturbed, disturbance; // share of the epochs; up to so much longer
} noise;

typedef struct setting {
    int executions, epochs;
    noise noise;
} setting;

// One in twenty, and two standard deviations of their number for chance.
enum { PAIRS = 480, WRONG_MOST = PAIRS / 20 + 10, EPOCHS_MAX = 32 };

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

// Two arms that took turns of whole trainings, one an execution; those of the second arm take
// `factor` times as long.
static void draw_turns(const setting *t, uint32_t pair, double factor, turn_log *l) {
    *l = (turn_log){0};
    for (uint32_t i = 0; i < 2 * (uint32_t)t->executions; i++) {
        const random_stream s = {
            .seed = 11, .purpose = RANDOM_TRIAL, .layer = 2, .epoch = pair, .sample = i};
        const random_stream both = {
            .seed = 12, .purpose = RANDOM_TRIAL, .layer = 2, .epoch = pair, .sample = i / 2};
        const double shared = exp(t->noise.between_executions * normal(&both, 0));
        const turn one = {i / 2, 0, i % 2, (uint32_t)t->epochs, 0};
        double seconds[EPOCHS_MAX];
        turn_step steps[EPOCHS_MAX];
        draw_epochs(&s, t, seconds);
        for (int e = 0; e < t->epochs; e++)
            steps[e] = (turn_step){
                .ns = (uint64_t)llround(1e9 * seconds[e] * shared * (i % 2 ? factor : 1)),
                .steps = 100,
                .samples = 6400};
        turn_log_add(l, &one, steps);
        if (i % 2) turn_log_end(l, 0);
    }
}

// ---- Verdicts ----

static verdict judge(const setting *t, uint32_t pair, double factor, estimate *speedup) {
    static const turn_load alike[2] = {{1, 1, 0}, {1, 1, 0}};
    turn_log l;
    turn_evidence e;
    comparison c = {0};
    draw_turns(t, pair, factor, &l);
    turn_evidence_make(&l, alike, 2, 0, &e);
    compare_arms(&e, 1, 0, 1, &c);
    *speedup = c.speedup;
    turn_evidence_release(&e);
    turn_log_release(&l);
    return c.time;
}

// Whether the verdict calls b slower (-1) or faster (1) than a, or finds no difference (0).
static int direction(const setting *t, uint32_t pair, double factor) {
    estimate speedup;
    const verdict v = judge(t, pair, factor, &speedup);
    assert_int_equal(v.missing, MISSING_NOTHING);
    assert_int_equal(v.test, TEST_TURNS);
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
    print_message("%d × %d epochs: %d of %d not different, 5 %% found in %d\n", t->executions,
                  t->epochs, none, PAIRS, found);
    assert_true(PAIRS - none <= WRONG_MOST);
    assert_true(100 * found >= 90 * PAIRS);
}

static void six_executions_of_ten_epochs(void **state) {
    (void)state;
    check(&(setting){6, 10, usual});
}

static void six_trainings_that_differ_as_a_whole(void **state) {
    (void)state;
    setting t = {6, 10, usual};
    t.noise.between_runs = 0.01;
    check(&t);
}

static void three_executions_of_four_epochs_on_a_quiet_machine(void **state) {
    (void)state;
    check(&(setting){3, 4, {.jitter = 0.005, .drift = 0.005}});
}

// Ten executions, between which the machine slows down and speeds up by 10 %: pairs cancel that.
static void executions_that_differ(void **state) {
    (void)state;
    setting t = {10, 5, usual};
    t.noise.between_executions = 0.1;
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
        assert_true(count_same(&ten, margins[i]) <= WRONG_MOST);
        assert_true(count_same(&wide, margins[i]) <= WRONG_MOST);
    }
}

// One or two runs cannot show how much the next one would differ: there is no verdict, however many
// epochs they have.
static void fewer_than_three_executions_give_no_verdict(void **state) {
    (void)state;
    for (int executions = 1; executions < VERDICT_EXECUTIONS; executions++) {
        const setting t = {executions, 20, usual};
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
        cmocka_unit_test(six_executions_of_ten_epochs),
        cmocka_unit_test(six_trainings_that_differ_as_a_whole),
        cmocka_unit_test(three_executions_of_four_epochs_on_a_quiet_machine),
        cmocka_unit_test(executions_that_differ),
        cmocka_unit_test(the_same_within_a_margin),
        cmocka_unit_test(fewer_than_three_executions_give_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
