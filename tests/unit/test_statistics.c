// SPDX-License-Identifier: MIT
// Statistics against values from tables and closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/median.h"
#include "results/statistics.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static void centre_and_spread(void **state) {
    (void)state;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
    assert_near(median(odd, 3), 5, 0);
    assert_near(median(even, 4), 2.5, 0);
    assert_near(statistics_mean(even, 4), 2.5, 0);
    // 2 4 4 4 5 5 7 9: squares of the deviations sum to 32.
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(statistics_deviation(x, 8), sqrt(32.0 / 7), 1e-15);
    assert_true(isnan(statistics_mean(x, 0)));
    assert_true(isnan(median(odd, 0)));
    assert_true(isnan(statistics_deviation(x, 1)));
}

static void student(void **state) {
    (void)state;
    // From printed tables of the t distribution.
    assert_near(statistics_t_quantile(0.975, 1), 12.7062, 1e-4);
    assert_near(statistics_t_quantile(0.975, 2), 4.30265, 1e-5);
    assert_near(statistics_t_quantile(0.975, 10), 2.22814, 1e-5);
    assert_near(statistics_t_quantile(0.95, 30), 1.69726, 1e-5);
    assert_near(statistics_t_quantile(0.025, 10), -2.22814, 1e-5);
    assert_near(statistics_t_quantile(0.975, 1e6), 1.95997, 1e-5);
    assert_near(statistics_t_p_value(2.22814, 10), 0.05, 1e-5);
    assert_near(statistics_t_p_value(0, 3), 1, 1e-12);
    // One degree of freedom is Cauchy's distribution: p = 1 - 2 atan(t) / pi.
    assert_near(statistics_t_p_value(3, 1), 1 - 2 * atan(3) / acos(-1), 1e-12);
}

static void wilson(void **state) {
    (void)state;
    // Newcombe (1998), Statistics in Medicine 17, table I: 81/263, 15/148, 0/20, 1/29.
    const struct {
        int64_t right, n;
        double low, high;
    } known[] = {{81, 263, 0.2553, 0.3662},
                 {15, 148, 0.0624, 0.1605},
                 {0, 20, 0.0000, 0.1611},
                 {1, 29, 0.0061, 0.1718}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        interval w = interval_wilson(known[i].right, known[i].n);
        assert_near(w.low, known[i].low, 5.1e-5);
        assert_near(w.high, known[i].high, 5.1e-5);
    }
    interval none = interval_wilson(0, 0);
    assert_true(none.low == 0 && none.high == 1);
}

static void mcnemar(void **state) {
    (void)state;
    assert_near(statistics_mcnemar(0, 0), 1, 0);
    assert_near(statistics_mcnemar(5, 5), 1, 0);
    assert_near(statistics_mcnemar(0, 6), 2.0 / 64, 1e-12);
    assert_near(statistics_mcnemar(1, 9), 22.0 / 1024, 1e-12); // 2 (1 + 10) / 2^10
    assert_near(statistics_mcnemar(9, 1), 22.0 / 1024, 1e-12);
    // Large counts: near the normal approximation with continuity correction.
    double z = (fabs(500.0 - 400.0) - 1) / sqrt(900.0);
    assert_near(statistics_mcnemar(500, 400), erfc(z / sqrt(2)), 2e-5);
}

static void means_and_their_errors(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, b[] = {0, 0, 0}; // mean 2, standard error 1 / sqrt 3, t = 4.3027
    mean_estimate m = statistics_pairs(a, b, 3);
    assert_near(statistics_p_value(&m), statistics_t_p_value(2 * sqrt(3), 2), 1e-12);
    interval range = statistics_interval(&m, 0.95);
    assert_near(range.low, 2 - 4.302653 / sqrt(3), 1e-5);
    assert_near(range.high, 2 + 4.302653 / sqrt(3), 1e-5);
    const mean_estimate alone = statistics_alone(a, 3);
    assert_near(alone.value, 2, 0);
    assert_near(alone.error, m.error, 1e-15);
    m = statistics_pairs(a, a, 3);
    assert_near(statistics_p_value(&m), 1, 0);
    m = statistics_pairs(a, b, 1);
    assert_near(m.value, 1, 0);
    assert_true(isnan(statistics_p_value(&m)) && isnan(statistics_interval(&m, 0.95).low));
    assert_true(isnan(statistics_margin_p_value(&m, 9)));
}

// Welch (1947), as in every textbook: with variances 1 and 4 over 3 and 4 values.
static void unequal_variances(void **state) {
    (void)state;
    const double a[] = {9, 10, 11}, b[] = {3, 5, 7, 5 + 2, 5 - 2, 5};
    const mean_estimate m = statistics_welch(a, 3, b, 6);
    const double u = 1.0 / 3, v = (4 * 4.0 / 5) / 6;
    assert_near(m.value, 5, 1e-12);
    assert_near(m.error, sqrt(u + v), 1e-12);
    assert_near(m.df, (u + v) * (u + v) / (u * u / 2 + v * v / 5), 1e-12);
    const mean_estimate equal = statistics_welch(b + 5, 1, b, 6);
    assert_true(isnan(equal.error)); // one value has no spread
    const double flat[] = {2, 2}, other[] = {1, 1};
    const mean_estimate sure = statistics_welch(flat, 2, other, 2);
    assert_near(statistics_p_value(&sure), 0, 0);
    assert_near(sure.df, 2, 0);
}

static void within_a_margin(void **state) {
    (void)state;
    const mean_estimate m = {0.01, 0.01, 10}; // (0.03 - 0.01) / 0.01 = 2
    assert_near(statistics_margin_p_value(&m, 0.03), statistics_t_p_value(2, 10) / 2, 1e-12);
    assert_near(statistics_margin_p_value(&m, 0.01), 0.5, 1e-12);
    assert_near(statistics_margin_p_value(&m, 0), 1 - statistics_t_p_value(1, 10) / 2, 1e-12);
    const mean_estimate flat = {0.01, 0, 2};
    assert_near(statistics_margin_p_value(&flat, 0.02), 0, 0);
    assert_near(statistics_margin_p_value(&flat, 0.005), 1, 0);
}

static void proportions(void **state) {
    (void)state;
    // (20.5 - 10.5) / 102 with the variance (20.5 + 10.5) / 102 - (10 / 102)^2 over 102.
    const double half = 1.959964 * sqrt((31.0 / 102 - 10.0 / 102 * 10.0 / 102) / 102);
    mean_estimate m = statistics_proportions(20, 10, 100);
    interval range = statistics_interval(&m, 0.95);
    assert_near(range.low, 10.0 / 102 - half, 1e-6);
    assert_near(range.high, 10.0 / 102 + half, 1e-6);
    m = statistics_proportions(0, 0, 100);
    range = statistics_interval(&m, 0.95);
    assert_true(range.low < 0 && range.high > 0 && range.high < 0.03);
}

// Sizes from the noncentral t, as in tables of power: two-sided, 5 %, a power of 80 %.
static void sizes(void **state) {
    (void)state;
    static const struct {
        double effect;
        int means;
        size_t size;
    } table[] = {{0.2, 1, 199}, {0.5, 1, 34}, {0.8, 1, 15}, {1.0, 1, 10}, {1.5, 1, 6},
                 {0.2, 2, 394}, {0.5, 2, 64}, {0.8, 2, 26}, {1.0, 2, 17}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        // Two means of n values have the variance 2 / n.
        const double effect = table[i].effect / sqrt(table[i].means);
        const size_t own = statistics_sample_size(effect, 0.975, 0.8, table[i].means, 1000);
        if (own + 1 < table[i].size || own > table[i].size + 1)
            fail_msg("an effect of %g in %d means: %zu, not %zu", table[i].effect, table[i].means,
                     own, table[i].size);
    }
    assert_int_equal(statistics_sample_size(0.2, 0.975, 0.8, 1, 100), 0);
    assert_int_equal(statistics_sample_size(0, 0.975, 0.8, 1, 100), 0);
    assert_int_equal(statistics_sample_size(NAN, 0.975, 0.8, 1, 100), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_and_spread),
        cmocka_unit_test(student),
        cmocka_unit_test(wilson),
        cmocka_unit_test(mcnemar),
        cmocka_unit_test(means_and_their_errors),
        cmocka_unit_test(unequal_variances),
        cmocka_unit_test(within_a_margin),
        cmocka_unit_test(proportions),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
