// statistics.h - the statistics behind a report. Everything is deterministic: equal input gives
// equal output.
#ifndef LOCKSTEP_RESULTS_STATISTICS_H
#define LOCKSTEP_RESULTS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/interval.h"

// NAN when n is too small to define them: mean and median need 1, the deviation 2.
double statistics_mean(const double *x, size_t n);
double statistics_median(double *x, size_t n);          // sorts x
double statistics_deviation(const double *x, size_t n); // of a sample: divides by n - 1

// Student's t: the quantile for probability p in (0, 1), and the two-sided p-value of a value t.
// df > 0.
double statistics_t_quantile(double p, double df);
double statistics_t_p_value(double t, double df);

// Wilson's 95 % interval of a proportion, right / n; [0, 1] for n = 0.
interval statistics_wilson(int64_t right, int64_t n);

// McNemar's exact test: two classifiers on the same samples, of which `only_a` are right by the
// first alone and `only_b` by the second alone. Two-sided p-value.
double statistics_mcnemar(int64_t only_a, int64_t only_b);

// Paired t-test of n pairs. Two-sided p-value; NAN for n < 2. Equal pairs throughout give 1.
double statistics_paired_test(const double *a, const double *b, size_t n);

// 95 % interval of the mean of a - b over n pairs (Student's t); NAN for n < 2.
interval statistics_paired_interval(const double *a, const double *b, size_t n);

// 95 % interval of the difference of two proportions of the same n samples, from those that are
// right by one alone, as for McNemar's test (Wald's interval with half a sample added to each of
// the four cells: Agresti and Min). n > 0.
interval statistics_proportion_interval(int64_t only_a, int64_t only_b, int64_t n);

// Repeated measurements of one thing: runs of epochs. run[i] has length[i] values, all positive.
typedef struct sample_set {
    const double *const *run;
    const size_t *length;
    size_t runs;
} sample_set;

// With fewer values than this on either side a ratio has no interval: with two values a side, one
// A/A pair in three would have all of A below all of B.
enum { STATISTICS_RATIO_MIN = 3 };

// The centre of a set is the mean over runs of the median of a run.
typedef struct estimate {
    double value;
    interval range; // 95 %; NAN, NAN when there are too few values
} estimate;
typedef estimate ratio; // centre(a) / centre(b)

// The ratio of a to b with a 95 % bootstrap interval.
//
// What is resampled: with three runs or more a side, its runs, each with all its epochs. The median
// of a run carries the noise of its epochs, so resampling those too would count that noise twice
// (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8). With fewer
// runs the epochs are resampled, and the interval knows the noise between epochs only: what makes
// one run slower than the next as a whole looks like a difference.
//
// Percentile intervals are too short for few values, so the half lengths are stretched on the log
// scale by sqrt(n / (n - 1)) · t / z, where n counts the independent values of the smaller side.
// A/A pairs then cover 1 at least 95 times in 100, and 5 % is found at least 90 times in 100, with
// (tests/unit/test_calibration.c; epochs that vary by 1 %, drift by 1 % within a run, and are
// disturbed by up to 20 % one time in twenty):
//
//     one run of 10 epochs a side      when runs as a whole do not differ
//     three runs of 10 epochs a side   when runs differ by up to 1 % (standard deviation)
//
// It takes more where there is more noise: of 100 pairs that differ by 5 %, found are with one run
// of 5 epochs 86, of 4 epochs 75 (without disturbances 99 and 86); with runs that differ by 2 %,
// three a side 51, five 86, eight 98.
status statistics_ratio(const sample_set *a, const sample_set *b, ratio *result,
                        error *err) MUST_CHECK;

// The same for the difference centre(a) - centre(b), on a linear scale; values of any sign.
status statistics_difference(const sample_set *a, const sample_set *b, estimate *result,
                             error *err) MUST_CHECK;
// And for the centre of one set.
status statistics_centre(const sample_set *a, estimate *result, error *err) MUST_CHECK;

#endif
