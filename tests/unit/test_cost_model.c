// SPDX-License-Identifier: MIT
// The fit of α + β · bytes: it recovers the parameters that made the times, also from noisy ones,
// and no parameter is ever negative.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "dist/cost_model.h"

enum { POINTS = 15 };

static const double alpha = 12e-6, beta = 0.3e-9;

// Times of 1 KiB, 2 KiB, …, each with a relative error of up to `noise`.
static void make_points(double *bytes, double *seconds, double noise, uint32_t draw) {
    const random_stream stream = {.seed = 5, .purpose = RANDOM_TRIAL, .sample = draw};
    for (uint32_t i = 0; i < POINTS; i++) {
        const double off = 2 * (double)random_uniform(&stream, i) - 1;
        bytes[i] = 1024 * pow(2, i);
        seconds[i] = (alpha + beta * bytes[i]) * (1 + noise * off);
    }
}

static void assert_near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.9g is not within %g of %.9g", value, relative, expected);
}

static void exact_times_recover_the_model(void **state) {
    (void)state;
    double bytes[POINTS], seconds[POINTS];
    make_points(bytes, seconds, 0, 0);
    const cost_model m = cost_model_fit(bytes, seconds, POINTS);
    assert_near(m.alpha, alpha, 1e-9);
    assert_near(m.beta, beta, 1e-9);
    assert_true(m.error < 1e-9);
    assert_near(cost_model_seconds(&m, 1e6), alpha + beta * 1e6, 1e-9);
}

// The times span three orders of magnitude, and the noise is relative: an unweighted fit would lose
// α in the noise of the largest.
static void noisy_times_nearly_recover_the_model(void **state) {
    (void)state;
    for (uint32_t draw = 0; draw < 50; draw++) {
        double bytes[POINTS], seconds[POINTS];
        make_points(bytes, seconds, 0.1, draw);
        const cost_model m = cost_model_fit(bytes, seconds, POINTS);
        assert_near(m.alpha, alpha, 0.1);
        assert_near(m.beta, beta, 0.1);
        assert_true(m.error > 0.02 && m.error < 0.1);
    }
}

static void no_parameter_is_negative(void **state) {
    (void)state;
    const double bytes[] = {1000, 2000, 4000};
    const double falling[] = {4e-6, 3e-6, 2e-6}, steep[] = {1e-6, 3e-6, 7e-6};
    cost_model m = cost_model_fit(bytes, falling, 3);
    assert_true(m.beta == 0);
    // The best constant, by relative errors: the harmonic mean, weighted by 1 / t.
    assert_near(m.alpha, (1 / 4.0 + 1 / 3.0 + 1 / 2.0) / (1 / 16.0 + 1 / 9.0 + 1 / 4.0) * 1e-6,
                1e-12);
    assert_true(m.error > 0.2);
    // The line through the last two would start below 0.
    m = cost_model_fit(bytes, steep, 3);
    assert_true(m.alpha == 0);
    assert_true(m.beta > 1e-9 && m.beta < 1.75e-9);
}

static void one_size_gives_only_alpha(void **state) {
    (void)state;
    const double bytes[] = {4096, 4096}, seconds[] = {2e-6, 2e-6};
    const cost_model m = cost_model_fit(bytes, seconds, 2);
    assert_near(m.alpha, 2e-6, 1e-12);
    assert_true(m.beta == 0 && m.error < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_times_recover_the_model),
        cmocka_unit_test(noisy_times_nearly_recover_the_model),
        cmocka_unit_test(no_parameter_is_negative),
        cmocka_unit_test(one_size_gives_only_alpha),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
