// SPDX-License-Identifier: MIT
// Averages of weights: when they change, and the share of the old average.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/average.h"

static const averaging ema = {.kind = AVERAGING_EMA, .decay = 0.999, .every = 1};
static const averaging ahead = {.kind = AVERAGING_LOOKAHEAD, .decay = 0.95, .every = 5, .ramp = 3};

static void due(void **state) {
    (void)state;
    const averaging none = {0}, third = {.kind = AVERAGING_EMA, .decay = 0.9, .every = 3};
    assert_false(average_is_due(&none, 5, 10));
    assert_true(average_is_due(&ema, 1, 10));
    assert_false(average_is_due(&third, 10, 10));
    assert_true(average_is_due(&third, 9, 10));
    assert_false(average_is_due(&ahead, 4, 476));
    assert_true(average_is_due(&ahead, 5, 476));
    assert_true(average_is_due(&ahead, 476, 476)); // the weights become the average
}

static void shares(void **state) {
    (void)state;
    assert_true(average_share(&ema, 7, 10) == 0.999);
    assert_true(average_share(&ahead, 476, 476) == 1); // not one of its steps
    for (uint64_t step = 5; step <= 475; step += 5)
        assert_true(fabs(average_share(&ahead, step, 476) -
                         pow(0.95, 5) * pow((double)step / 476, 3)) < 1e-15);
}

// Values that floats and halves represent exactly.
static void take(void **state) {
    (void)state;
    const averaging half = {.kind = AVERAGING_LOOKAHEAD, .decay = 0.5, .every = 2};
    float weights[2] = {3, -1}, average[2] = {1, 1}, statistic = 8, average_statistic = 4;
    const model m = {.program = {.parameters = 2, .buffers = 1}};
    checkpoint c = {.model = &m,
                    .step = 2,
                    .parameters = weights,
                    .buffers = &statistic,
                    .average = average,
                    .average_buffers = &average_statistic};
    bool changed;
    average_take(&half, &c, 3, &changed); // a quarter of the old average
    assert_true(changed);
    assert_true(average[0] == 2.5f && average[1] == -0.5f && average_statistic == 7);
    assert_true(weights[0] == 2.5f && weights[1] == -0.5f && statistic == 7);
    weights[0] = 9;
    c.step = 3; // the last step: the average stays, and is the model
    average_take(&half, &c, 3, &changed);
    assert_true(changed && weights[0] == 2.5f && average[0] == 2.5f);
    const averaging plain = {.kind = AVERAGING_EMA, .decay = 0.5, .every = 1};
    weights[0] = 4.5f;
    average_take(&plain, &c, 3, &changed);
    assert_true(!changed && weights[0] == 4.5f && average[0] == 3.5f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due),
        cmocka_unit_test(shares),
        cmocka_unit_test(take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
