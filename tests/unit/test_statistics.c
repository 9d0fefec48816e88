// Statistics against values from tables and closed forms, and the promise about A/A pairs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "results/statistics.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static void centre_and_spread(void **state) {
    (void)state;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
    assert_near(statistics_median(odd, 3), 5, 0);
    assert_near(statistics_median(even, 4), 2.5, 0);
    assert_near(statistics_mean(even, 4), 2.5, 0);
    // 2 4 4 4 5 5 7 9: squares of the deviations sum to 32.
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(statistics_deviation(x, 8), sqrt(32.0 / 7), 1e-15);
    assert_true(isnan(statistics_mean(x, 0)));
    assert_true(isnan(statistics_median(odd, 0)));
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
        interval w = statistics_wilson(known[i].right, known[i].n);
        assert_near(w.low, known[i].low, 5.1e-5);
        assert_near(w.high, known[i].high, 5.1e-5);
    }
    interval none = statistics_wilson(0, 0);
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

static void paired(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, b[] = {0, 0, 0}; // t = 2 / (1 / sqrt 3) with 2 df
    assert_near(statistics_paired_test(a, b, 3), statistics_t_p_value(2 * sqrt(3), 2), 1e-12);
    assert_near(statistics_paired_test(a, a, 3), 1, 0);
    assert_true(isnan(statistics_paired_test(a, b, 1)));
}

// The median of epoch_seconds, from four million of them.
#define MEDIAN_SECONDS 1.00189

// Noise like that of epochs: a small jitter and, one time in ten, a disturbance.
static double epoch_seconds(const random_stream *s, uint64_t k) {
    double jitter = 0;
    for (uint64_t i = 0; i < 6; i++) jitter += random_uniform(s, k * 8 + i) - 0.5;
    double disturbed = random_uniform(s, k * 8 + 6) < 0.1f;
    return 1 + 0.02 * jitter + 0.2 * disturbed * random_uniform(s, k * 8 + 7);
}

typedef struct coverage {
    int ratio, difference, centre;
} coverage;

static coverage count_covered(size_t epochs, int pairs) {
    coverage covered = {0};
    for (int pair = 0; pair < pairs; pair++) {
        random_stream s = {.seed = 7,
                           .purpose = RANDOM_BOOTSTRAP,
                           .layer = 1,
                           .epoch = (uint32_t)epochs,
                           .sample = (uint32_t)pair};
        double a[32], b[32];
        for (size_t i = 0; i < epochs; i++) {
            a[i] = epoch_seconds(&s, i);
            b[i] = epoch_seconds(&s, epochs + i);
        }
        const double *run_a = a, *run_b = b;
        const sample_set set_a = {&run_a, &epochs, 1}, set_b = {&run_b, &epochs, 1};
        ratio r;
        error err;
        assert_int_equal(statistics_ratio(&set_a, &set_b, &r, &err), STATUS_OK);
        assert_true(r.range.low <= r.value && r.value <= r.range.high);
        covered.ratio += r.range.low <= 1 && 1 <= r.range.high;
        assert_int_equal(statistics_difference(&set_a, &set_b, &r, &err), STATUS_OK);
        assert_true(r.range.low <= r.value && r.value <= r.range.high);
        covered.difference += r.range.low <= 0 && 0 <= r.range.high;
        assert_int_equal(statistics_centre(&set_a, &r, &err), STATUS_OK);
        covered.centre += r.range.low <= MEDIAN_SECONDS && MEDIAN_SECONDS <= r.range.high;
    }
    return covered;
}

static void equal_runs_show_no_difference(void **state) {
    (void)state;
    const size_t epochs[] = {3, 4, 9, 19};
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        coverage c = count_covered(epochs[i], 400);
        assert_true(c.ratio >= 380);
        assert_true(c.difference >= 380);
        assert_true(c.centre >= 375);
    }
}

static void a_difference_shows(void **state) {
    (void)state;
    const double a[] = {2.01, 1.99, 2.02, 2.00, 1.98}, b[] = {1.00, 1.01, 0.99, 1.02, 1.00};
    const double *run_a[] = {a, a}, *run_b[] = {b, b};
    const size_t length[] = {5, 5};
    const sample_set set_a = {run_a, length, 1}, set_b = {run_b, length, 1};
    ratio r, again;
    assert_int_equal(statistics_ratio(&set_a, &set_b, &r, NULL), STATUS_OK);
    assert_near(r.value, 2, 1e-12);
    assert_true(r.range.low > 1.9 && r.range.high < 2.1 && r.range.low < r.range.high);
    assert_int_equal(statistics_ratio(&set_a, &set_b, &again, NULL), STATUS_OK);
    assert_true(r.range.low == again.range.low && r.range.high == again.range.high);
}

static void differences_and_centres(void **state) {
    (void)state;
    const double a[] = {-1.0, 1.1, 0.9, 1.0, 1.0}, b[] = {3.0, 2.9, 3.1, 3.0, 3.2};
    const double *run_a[] = {a + 1, a + 1}, *run_b = b;
    const size_t four[] = {4, 4}, five = 5;
    const sample_set set_a = {run_a, four, 2}, set_b = {&run_b, &five, 1};
    estimate e;
    assert_int_equal(statistics_difference(&set_a, &set_b, &e, NULL), STATUS_OK);
    assert_near(e.value, -2, 1e-12);
    assert_true(e.range.low < -2 && e.range.high > -2 && e.range.high < -1.5);
    assert_int_equal(statistics_centre(&set_b, &e, NULL), STATUS_OK);
    assert_near(e.value, 3, 1e-12);
    assert_true(e.range.low >= 2.5 && e.range.low < 3 && e.range.high > 3 && e.range.high < 3.5);
    const sample_set nothing = {NULL, NULL, 0};
    assert_int_equal(statistics_centre(&nothing, &e, NULL), STATUS_OK);
    assert_true(isnan(e.value) && isnan(e.range.low));
}

static void intervals_of_pairs(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, b[] = {0, 0, 0}; // mean 2, standard error 1 / sqrt 3, t = 4.3027
    interval range = statistics_paired_interval(a, b, 3);
    assert_near(range.low, 2 - 4.302653 / sqrt(3), 1e-5);
    assert_near(range.high, 2 + 4.302653 / sqrt(3), 1e-5);
    assert_true(isnan(statistics_paired_interval(a, b, 1).low));
    // (20.5 - 10.5) / 102 with the variance (20.5 + 10.5) / 102 - (10 / 102)^2 over 102.
    double half = 1.959964 * sqrt((31.0 / 102 - 10.0 / 102 * 10.0 / 102) / 102);
    range = statistics_proportion_interval(20, 10, 100);
    assert_near(range.low, 10.0 / 102 - half, 1e-6);
    assert_near(range.high, 10.0 / 102 + half, 1e-6);
    range = statistics_proportion_interval(0, 0, 100);
    assert_true(range.low < 0 && range.high > 0 && range.high < 0.03);
}

static void too_few_values_give_no_interval(void **state) {
    (void)state;
    const double a[] = {2, 2.1}, b[] = {1, 1.1, 1.05};
    const double *run_a = a, *run_b = b;
    const size_t two = 2, three = 3;
    const sample_set set_a = {&run_a, &two, 1}, set_b = {&run_b, &three, 1};
    ratio r;
    assert_int_equal(statistics_ratio(&set_a, &set_b, &r, NULL), STATUS_OK);
    assert_near(r.value, 2.05 / 1.05, 1e-12);
    assert_true(isnan(r.range.low) && isnan(r.range.high));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_and_spread),
        cmocka_unit_test(student),
        cmocka_unit_test(wilson),
        cmocka_unit_test(mcnemar),
        cmocka_unit_test(paired),
        cmocka_unit_test(equal_runs_show_no_difference),
        cmocka_unit_test(a_difference_shows),
        cmocka_unit_test(differences_and_centres),
        cmocka_unit_test(intervals_of_pairs),
        cmocka_unit_test(too_few_values_give_no_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
