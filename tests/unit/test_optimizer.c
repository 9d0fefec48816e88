// SPDX-License-Identifier: MIT
// Learning rates, per step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nn/optimizer.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12 * fabs(b))

enum { STEPS = 10, EPOCHS = 40 };

static const optimizer sgd = {.kind = OPTIMIZER_SGD, .lr = 0.1};
static const lr_scaling unscaled = {.kind = LR_SCALING_NONE};

static double rate(const schedule *s, uint64_t step) {
    return learning_rate(&sgd, s, &unscaled, 64, step, STEPS, STEPS * EPOCHS, NULL);
}

static void constant(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_CONSTANT};
    assert_true(rate(&s, 0) == 0.1);
    assert_true(rate(&s, 399) == 0.1);
}

static void multistep_falls_at_the_start_of_its_epochs(void **state) {
    (void)state;
    const schedule s = {
        .kind = SCHEDULE_MULTISTEP, .milestones = {10, 20}, .milestone_count = 2, .gamma = 0.1};
    assert_true(rate(&s, 99) == 0.1);
    assert_near(rate(&s, 100), 0.01);
    assert_near(rate(&s, 199), 0.01);
    assert_near(rate(&s, 200), 0.001);
    assert_near(rate(&s, 399), 0.001);
}

static void warm_up_rises_linearly(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_CONSTANT, .warmup_epochs = 2};
    assert_near(rate(&s, 0), 0.1 / 20);
    assert_near(rate(&s, 9), 0.1 / 2);
    assert_near(rate(&s, 18), 0.1 * 19 / 20);
    assert_true(rate(&s, 19) == 0.1); // (19 + 1) / 20
    assert_true(rate(&s, 20) == 0.1);
}

static void cosine_ends_at_zero(void **state) {
    (void)state;
    schedule s = {.kind = SCHEDULE_COSINE};
    assert_near(rate(&s, 0), 0.1);
    assert_near(rate(&s, 200), 0.05);
    assert_true(rate(&s, 399) > 0 && rate(&s, 399) < 1e-5);
    assert_true(rate(&s, 400) == 0);
    s.warmup_epochs = 20; // the cosine begins where the warm-up ends
    assert_near(rate(&s, 199), 0.1);
    assert_near(rate(&s, 200), 0.1);
    assert_near(rate(&s, 300), 0.05);
    s.warmup_epochs = EPOCHS;
    assert_near(rate(&s, 399), 0.1);
}

// PyTorch 1.13's CosineAnnealingLR(SGD(lr=0.1), 7), stepped once an epoch.
static void cosine_by_epoch_is_that_of_pytorch(void **state) {
    (void)state;
    static const double rates[] = {0.1,
                                   0.09504844339512096,
                                   0.08117449009293669,
                                   0.061126046697815725,
                                   0.03887395330218429,
                                   0.018825509907063328,
                                   0.004951556604879048};
    schedule s = {.kind = SCHEDULE_COSINE, .by_epoch = true};
    for (uint64_t step = 0; step < 7 * STEPS; step++)
        assert_near(learning_rate(&sgd, &s, &unscaled, 64, step, STEPS, 7 * STEPS, NULL),
                    rates[step / STEPS]);
    s.warmup_epochs = 20;
    assert_near(rate(&s, 199), 0.1);
    assert_near(rate(&s, 309), 0.05);
    assert_true(rate(&s, 310) < 0.05);
}

static void scaling_follows_the_batch(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_CONSTANT};
    const lr_scaling linear = {LR_SCALING_LINEAR, 64}, root = {LR_SCALING_SQRT, 64};
    assert_near(learning_rate(&sgd, &s, &linear, 256, 0, STEPS, STEPS * EPOCHS, NULL), 0.4);
    assert_near(learning_rate(&sgd, &s, &linear, 32, 0, STEPS, STEPS * EPOCHS, NULL), 0.05);
    assert_near(learning_rate(&sgd, &s, &root, 256, 0, STEPS, STEPS * EPOCHS, NULL), 0.2);
    assert_near(learning_rate(&sgd, &s, &unscaled, 256, 0, STEPS, STEPS * EPOCHS, NULL), 0.1);
}

static void an_epoch_without_steps_has_a_rate(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_MULTISTEP, .milestones = {1}, .milestone_count = 1};
    assert_true(learning_rate(&sgd, &s, &unscaled, 64, 0, 0, 0, NULL) == 0.1);
}

static void straight_lines_between_points(void **state) {
    (void)state;
    // Factors of numpy.interp(step / 10, [1, 2.277, 9.9], [0.2, 1, 0.07]) * 0.1.
    const schedule s = {
        .kind = SCHEDULE_LINEAR, .points = {{1, 0.2}, {2.277, 1}, {9.9, 0.07}}, .point_count = 3};
    assert_near(rate(&s, 0), 0.02);
    assert_near(rate(&s, 10), 0.02);
    assert_near(rate(&s, 16), 0.057588097102584196);
    assert_near(rate(&s, 23), 0.09971940181031091);
    assert_near(rate(&s, 98), 0.008219992129083043);
    assert_near(rate(&s, 99), 0.007);
    assert_near(rate(&s, 399), 0.007);
}

// PyTorch 1.13's OneCycleLR(SGD(lr=1), max_lr=0.1, total_steps, …).get_last_lr().
static void one_cycle_is_that_of_pytorch(void **state) {
    (void)state;
    static const struct {
        schedule s;
        uint64_t total, step;
        double rate;
    } cases[] = {
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         0,
         0.0040000000000000036},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         1,
         0.004016725990295247},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         60,
         0.05263358011891643},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         118,
         0.09998327400970475},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         119,
         0.1},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         120,
         0.09999685285032368},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         250,
         0.055040591723402685},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         398,
         3.5471496763224105e-06},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         400,
         399,
         4e-07},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         0,
         0.0040000000000000036},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         1,
         0.09805566273349588},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         2,
         0.09190443762697106},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         3,
         0.06726838364805451},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         4,
         0.035773877573965704},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         5,
         0.00992967918932656},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         7,
         6,
         4e-07},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         0,
         0.02},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         50,
         0.05687315634218289},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         108,
         0.09964601769911505},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         109,
         0.09986096256684493},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         110,
         0.09959358288770054},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         300,
         0.04879144385026738},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.23,
          .div_factor = 5,
          .final_div_factor = 10,
          .anneal = ANNEAL_LINEAR},
         476,
         475,
         0.0020000000000000018},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         9,
         0,
         0.09698464310077128},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         9,
         1,
         0.08830226894706028},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_COS},
         9,
         8,
         4e-07},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 1,
          .div_factor = 10,
          .final_div_factor = 100,
          .anneal = ANNEAL_LINEAR},
         9,
         0,
         0.01},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 1,
          .div_factor = 10,
          .final_div_factor = 100,
          .anneal = ANNEAL_LINEAR},
         9,
         4,
         0.05500000000000001},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 1,
          .div_factor = 10,
          .final_div_factor = 100,
          .anneal = ANNEAL_LINEAR},
         9,
         8,
         0.1},
        {{.kind = SCHEDULE_ONE_CYCLE,
          .pct_start = 0.3,
          .div_factor = 25,
          .final_div_factor = 10000,
          .anneal = ANNEAL_LINEAR},
         1,
         0,
         3.999999999976245e-07},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = learning_rate(&sgd, &cases[i].s, &unscaled, 64, cases[i].step, STEPS,
                                         cases[i].total, NULL);
        if (!(fabs(got - cases[i].rate) <= 1e-13))
            fail_msg("step %d of %d: %.17g, not %.17g", (int)cases[i].step, (int)cases[i].total,
                     got, cases[i].rate);
    }
}

// Where PyTorch divides by 0: a first phase of 0 steps.
static void one_cycle_without_a_rise(void **state) {
    (void)state;
    const schedule s = {
        .kind = SCHEDULE_ONE_CYCLE, .pct_start = 0.1, .div_factor = 25, .final_div_factor = 100};
    assert_near(learning_rate(&sgd, &s, &unscaled, 64, 0, STEPS, 10, NULL), 0.1);
    assert_near(learning_rate(&sgd, &s, &unscaled, 64, 9, STEPS, 10, NULL), 0.1 / 2500);
    assert_near(learning_rate(&sgd, &s, &unscaled, 64, 0, STEPS, 1, NULL), 0.1 / 2500);
}

// ---- On a plateau ----

enum { LOSSES = 26, FALLS = 12 };

static const double some_losses[LOSSES] = {
    2.3, 1.9, 1.5, 1.52, 1.499, 1.4989, 1.2, 1.21, 1.3,  1.25, 1.19999, 1.1999, 1.3,
    1.1, 1.1, 1.1, 1.1,  1.2,   0.9,    1.0, 1.0,  0.95, 0.9,  0.91,    1.5,    1.5};

static double plateau_rate_at(const schedule *s, const double *losses, uint64_t step) {
    return learning_rate(&sgd, s, &unscaled, 64, step, STEPS, STEPS * LOSSES, losses);
}

// The epochs from which on PyTorch 1.13's ReduceLROnPlateau(SGD(lr=0.1), …) has another rate, if it
// is stepped with these losses.
static void plateau_is_that_of_pytorch(void **state) {
    (void)state;
    double same_losses[LOSSES];
    for (int i = 0; i < LOSSES; i++) same_losses[i] = 1;
    const struct {
        const double *losses;
        schedule s;
        struct {
            uint64_t epoch;
            double rate;
        } falls[FALLS];
    } cases[] = {
        {some_losses,
         {.factor = 0.5, .patience = 1, .threshold = 0.05},
         {{5, 0.05},
          {9, 0.025},
          {11, 0.0125},
          {13, 0.00625},
          {16, 0.003125},
          {18, 0.0015625},
          {21, 0.00078125},
          {23, 0.000390625},
          {25, 0.0001953125}}},
        {some_losses,
         {.factor = 0.3, .cooldown = 2},
         {{4, 0.03}, {8, 0.009}, {13, 0.0027}, {16, 0.00081}, {20, 0.000243}, {23, 7.29e-05}}},
        {some_losses,
         {.factor = 0.2, .patience = 1, .threshold = 1e-4, .min_lr = 0.005, .cooldown = 1},
         {{9, 0.02}, {12, 0.005}}},
        {some_losses, {.factor = 0.1, .threshold = 1e-4, .min_lr = 0.2}, {{0, 0.1}}},
        {same_losses,
         {.factor = 0.1, .patience = 10, .threshold = 1e-4},
         {{12, 0.01}, {23, 0.001}}},
        {same_losses,
         {.factor = 0.1},
         {{2, 0.01}, {3, 1e-3}, {4, 1e-4}, {5, 1e-5}, {6, 1e-6}, {7, 1e-7}, {8, 1e-8}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        schedule s = cases[i].s;
        double expected = 0.1;
        int fall = 0;
        s.kind = SCHEDULE_PLATEAU;
        for (uint64_t step = 0; step < STEPS * LOSSES; step++) {
            const double got = plateau_rate_at(&s, cases[i].losses, step);
            if (fall < FALLS && cases[i].falls[fall].rate > 0 &&
                step == cases[i].falls[fall].epoch * STEPS)
                expected = cases[i].falls[fall++].rate;
            if (!(fabs(got - expected) <= 1e-12 * expected))
                fail_msg("case %zu, step %d: %.17g, not %.17g", i, (int)step, got, expected);
        }
        assert_true(fall == FALLS || cases[i].falls[fall].rate == 0);
    }
}

static void plateau_needs_only_the_losses_before(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_PLATEAU, .factor = 0.5, .patience = 1, .warmup_epochs = 1};
    const double losses[] = {1, 1, 1, 0.5, NAN, NAN, NAN, 0.5, 0.5};
    const lr_scaling linear = {LR_SCALING_LINEAR, 64};
    assert_near(plateau_rate_at(&s, NULL, 0), 0.1 / STEPS);
    assert_near(plateau_rate_at(&s, losses, 29), 0.1);
    assert_near(plateau_rate_at(&s, losses, 30), 0.05);
    assert_near(learning_rate(&sgd, &s, &linear, 128, 30, STEPS, 100, losses), 0.1);
    // Epochs that were not measured do not count.
    assert_near(plateau_rate_at(&s, losses, 89), 0.05);
    assert_near(plateau_rate_at(&s, losses, 90), 0.025);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant),
        cmocka_unit_test(multistep_falls_at_the_start_of_its_epochs),
        cmocka_unit_test(warm_up_rises_linearly),
        cmocka_unit_test(cosine_ends_at_zero),
        cmocka_unit_test(cosine_by_epoch_is_that_of_pytorch),
        cmocka_unit_test(scaling_follows_the_batch),
        cmocka_unit_test(an_epoch_without_steps_has_a_rate),
        cmocka_unit_test(straight_lines_between_points),
        cmocka_unit_test(one_cycle_is_that_of_pytorch),
        cmocka_unit_test(one_cycle_without_a_rise),
        cmocka_unit_test(plateau_is_that_of_pytorch),
        cmocka_unit_test(plateau_needs_only_the_losses_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
