// SPDX-License-Identifier: MIT
// statistics.h - the statistics of a report. All functions are deterministic: equal input gives
// equal output.
#ifndef LOCKSTEP_RESULTS_STATISTICS_H
#define LOCKSTEP_RESULTS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/interval.h"

// NAN if n is too small: the mean needs 1 value, the deviation 2.
double statistics_mean(const double *x, size_t n);
double statistics_deviation(const double *x, size_t n); // of a sample: divides by n - 1

// Student's t: the quantile for probability p in (0, 1), and the two-sided p-value of a value t.
// df > 0; infinite: the normal distribution.
double statistics_t_quantile(double p, double df);
double statistics_t_p_value(double t, double df);

// McNemar's exact test: for two classifiers on the same samples, `only_a` that only the first got
// right and `only_b` that only the second got right. Two-sided p-value.
double statistics_mcnemar(int64_t only_a, int64_t only_b);

// A mean of independent values, as a test needs it: with its standard error and degrees of freedom.
// The error is NAN if there are too few values, 0 if all are equal.
typedef struct mean_estimate {
    double value, error, df;
} mean_estimate;

// The mean of n values, of the differences a[i] - b[i] of n pairs, and the difference of the means
// of two sets, whose variances may differ (Welch). An error needs n >= 2, for both sets.
mean_estimate statistics_alone(const double *x, size_t n);
mean_estimate statistics_pairs(const double *a, const double *b, size_t n);
mean_estimate statistics_welch(const double *a, size_t na, const double *b, size_t nb);

// By Student's t: the interval at `level` (0.95), the two-sided p-value of the value against 0, and
// the larger p-value of two one-sided tests against being `margin` or more away from 0 (TOST). NAN
// without an error.
interval statistics_interval(const mean_estimate *m, double level);
double statistics_p_value(const mean_estimate *m);
double statistics_margin_p_value(const mean_estimate *m, double margin);

// The power of a t-test, in reverse: the smallest n, up to `most`, with
//
//     effect · sqrt(n)  >=  t(test, df) + t(power, df),    df = means · (n - 1)
//
// where t(p, df) is the quantile of Student's t. With `effect` = mean / deviation of n differences
// (means = 1), or of the differences of two means of n values each (means = 2), test = 1 - alpha /
// 2 and power = 0.8, it is the size at which a two-sided test at the level alpha finds a difference
// of that size in four of five experiments. Instead of the noncentral t, as is usual: off by one at
// most. 0 if there is no such n, or the effect is not above 0.
size_t statistics_sample_size(double effect, double test, double power, int means, size_t most);

// A value with its 95 % interval, NAN if there is none.
typedef struct estimate {
    double value;
    interval range;
} estimate;

// The mean with its interval. For times (above 0) it is the geometric mean: the quotient of two
// such means is the ratio that a test on logarithms examines.
estimate statistics_mean_of(const double *x, size_t n);
estimate statistics_mean_time(const double *seconds, size_t n);

// The difference of two proportions of the same n samples, computed from those that only one got
// right, as in McNemar's test, with its standard error (Wald's, with half a sample added to each of
// the four cells: Agresti and Min). It is normal: df is infinite. n > 0.
mean_estimate statistics_proportions(int64_t only_a, int64_t only_b, int64_t n);

#endif
