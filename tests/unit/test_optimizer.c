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
    return learning_rate(&sgd, s, &unscaled, 64, step, STEPS, EPOCHS);
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

static void scaling_follows_the_batch(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_CONSTANT};
    const lr_scaling linear = {LR_SCALING_LINEAR, 64}, root = {LR_SCALING_SQRT, 64};
    assert_near(learning_rate(&sgd, &s, &linear, 256, 0, STEPS, EPOCHS), 0.4);
    assert_near(learning_rate(&sgd, &s, &linear, 32, 0, STEPS, EPOCHS), 0.05);
    assert_near(learning_rate(&sgd, &s, &root, 256, 0, STEPS, EPOCHS), 0.2);
    assert_near(learning_rate(&sgd, &s, &unscaled, 256, 0, STEPS, EPOCHS), 0.1);
}

static void an_epoch_without_steps_has_a_rate(void **state) {
    (void)state;
    const schedule s = {.kind = SCHEDULE_MULTISTEP, .milestones = {1}, .milestone_count = 1};
    assert_true(learning_rate(&sgd, &s, &unscaled, 64, 0, 0, 1) == 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant),
        cmocka_unit_test(multistep_falls_at_the_start_of_its_epochs),
        cmocka_unit_test(warm_up_rises_linearly),
        cmocka_unit_test(cosine_ends_at_zero),
        cmocka_unit_test(scaling_follows_the_batch),
        cmocka_unit_test(an_epoch_without_steps_has_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
