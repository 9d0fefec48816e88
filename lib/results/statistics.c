#include "results/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

// The 97.5 % quantile of the normal distribution.
static const double z975 = 1.959963984540054;

double statistics_mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return n ? sum / (double)n : NAN;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double statistics_median(double *x, size_t n) {
    if (!n) return NAN;
    qsort(x, n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double statistics_deviation(const double *x, size_t n) {
    if (n < 2) return NAN;
    double mean = statistics_mean(x, n), sum = 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

static double log_gamma(double x) {
    int sign; // lgamma() would write a global variable
    return lgamma_r(x, &sign);
}

// The continued fraction of the incomplete beta function by Lentz's method; converges fast for
// x < (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 500; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double k = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + k * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + k / c;
            c = fabs(c) < tiny ? tiny : c;
            h *= d * c;
        }
        if (fabs(d * c - 1) < 1e-15) break;
    }
    return h;
}

// The regularised incomplete beta function I_x(a, b).
static double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_t_p_value(double t, double df) {
    return isinf(t) ? 0 : incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double statistics_t_quantile(double p, double df) {
    if (p < 0.5) return -statistics_t_quantile(1 - p, df);
    double low = 0, high = 1;
    while (statistics_t_p_value(high, df) / 2 > 1 - p && high < 1e12) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (statistics_t_p_value(middle, df) / 2 > 1 - p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

interval statistics_wilson(int64_t right, int64_t n) {
    if (n <= 0) return (interval){0, 1};
    double count = (double)n, p = (double)right / count, z2 = z975 * z975;
    double centre = (p + z2 / (2 * count)) / (1 + z2 / count);
    double half = z975 / (1 + z2 / count) * sqrt(p * (1 - p) / count + z2 / (4 * count * count));
    return (interval){fmax(0, centre - half), fmin(1, centre + half)};
}

double statistics_mcnemar(int64_t only_a, int64_t only_b) {
    int64_t n = only_a + only_b, least = only_a < only_b ? only_a : only_b;
    double p = 0;
    for (int64_t k = 0; k <= least; k++)
        p += exp(log_gamma((double)n + 1) - log_gamma((double)k + 1) -
                 log_gamma((double)(n - k) + 1) - (double)n * log(2));
    return fmin(1, 2 * p);
}

double statistics_paired_test(const double *a, const double *b, size_t n) {
    if (n < 2) return NAN;
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) mean += (a[i] - b[i]) / (double)n;
    for (size_t i = 0; i < n; i++) square += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    double error_of_mean = sqrt(square / (double)(n - 1) / (double)n);
    if (error_of_mean == 0) return mean == 0 ? 1 : 0;
    return statistics_t_p_value(mean / error_of_mean, (double)(n - 1));
}

interval statistics_paired_interval(const double *a, const double *b, size_t n) {
    if (n < 2) return (interval){NAN, NAN};
    double mean = 0, square = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) mean += (a[i] - b[i]) / count;
    for (size_t i = 0; i < n; i++) square += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    double half = statistics_t_quantile(0.975, count - 1) * sqrt(square / (count - 1) / count);
    return (interval){mean - half, mean + half};
}

interval statistics_proportion_interval(int64_t only_a, int64_t only_b, int64_t n) {
    double a = (double)only_a + 0.5, b = (double)only_b + 0.5, count = (double)n + 2;
    double difference = (a - b) / count;
    double half = z975 * sqrt((a + b) / count - difference * difference) / sqrt(count);
    return (interval){difference - half, difference + half};
}

// ---- Bootstrap intervals ----

enum { RESAMPLES = 2000 };

// Draws random integers of one resample, one after the other.
typedef struct dice {
    random_stream stream;
    uint64_t next;
} dice;

static size_t roll(dice *d, size_t n) {
    return random_below(&d->stream, d->next++, (uint32_t)n);
}

// Are there enough runs to resample them, each with all its epochs?
static bool by_run(const sample_set *s) {
    return s->runs >= STATISTICS_RATIO_MIN;
}

// The mean over runs of the median of a run, resampled when there are dice. `scratch` holds the
// longest run.
static double centre(const sample_set *s, dice *d, double *scratch) {
    double sum = 0;
    for (size_t i = 0; i < s->runs; i++) {
        size_t run = d && s->runs > 1 ? roll(d, s->runs) : i;
        size_t n = s->length[run];
        for (size_t k = 0; k < n; k++) scratch[k] = s->run[run][d && !by_run(s) ? roll(d, n) : k];
        sum += statistics_median(scratch, n);
    }
    return sum / (double)s->runs;
}

static size_t longest(const sample_set *s) {
    size_t most = 0;
    for (size_t i = 0; i < s->runs; i++)
        if (s->length[i] > most) most = s->length[i];
    return most;
}

// How many independent values a side has: runs where there are enough of them, else epochs.
static size_t independent(const sample_set *s) {
    if (by_run(s)) return s->runs;
    size_t values = 0;
    for (size_t i = 0; i < s->runs; i++) values += s->length[i];
    return values;
}

// A handful of runs has few resamples that differ, and the quantiles of those fall short by a point
// or two: they are aimed at 96.5 %.
static double stretch(const sample_set *a, const sample_set *b) {
    size_t na = independent(a), nb = independent(b);
    double n = (double)(na < nb ? na : nb), p = by_run(a) || by_run(b) ? 0.9825 : 0.975;
    return sqrt(n / (n - 1)) * statistics_t_quantile(p, (double)(na + nb - 2)) / z975;
}

// Of one side alone: found to cover as promised where n - 1 falls short. n > 2.
static double stretch_alone(size_t n) {
    double count = (double)n;
    return sqrt(count / (count - 2)) * statistics_t_quantile(0.975, count - 1) / z975;
}

// What is estimated from the centres of the two sides; the second one is 1 where there is no second
// side. A ratio is resampled on the log scale.
typedef enum estimated { ESTIMATED_RATIO, ESTIMATED_DIFFERENCE, ESTIMATED_CENTRE } estimated;

static double combine(estimated what, double a, double b) {
    return what == ESTIMATED_RATIO ? log(a / b) : what == ESTIMATED_DIFFERENCE ? a - b : a;
}

static double resample(estimated what, const sample_set *a, const sample_set *b, uint32_t round,
                       double *scratch) {
    dice d = {.stream = {.purpose = RANDOM_BOOTSTRAP, .epoch = round}};
    double first = centre(a, &d, scratch);
    return combine(what, first, b ? centre(b, &d, scratch) : 1);
}

static status bootstrap(estimated what, const sample_set *a, const sample_set *b, estimate *result,
                        error *err) {
    status rc = STATUS_OK;
    double *scratch = NULL, *shifts = NULL;
    *result = (estimate){NAN, {NAN, NAN}};
    size_t rooms[] = {longest(a), b ? longest(b) : 0};
    if (!rooms[0] || (b && !rooms[1])) return STATUS_OK;
    scratch = memory_new(rooms[0] > rooms[1] ? rooms[0] : rooms[1], sizeof *scratch, err);
    shifts = memory_new(RESAMPLES, sizeof *shifts, err);
    if (!scratch || !shifts) {
        rc = STATUS_FAILED;
        goto out;
    }
    double first = centre(a, NULL, scratch), second = b ? centre(b, NULL, scratch) : 1;
    double point = combine(what, first, second);
    result->value = what == ESTIMATED_RATIO ? first / second : point;
    size_t na = independent(a), nb = b ? independent(b) : na;
    if (na < STATISTICS_RATIO_MIN || nb < STATISTICS_RATIO_MIN) goto out;
    for (uint32_t i = 0; i < RESAMPLES; i++) shifts[i] = resample(what, a, b, i, scratch) - point;
    qsort(shifts, RESAMPLES, sizeof *shifts, by_value);
    double factor = b ? stretch(a, b) : stretch_alone(na);
    result->range.low = point + factor * shifts[RESAMPLES / 40 - 1];
    result->range.high = point + factor * shifts[RESAMPLES - RESAMPLES / 40];
    if (what != ESTIMATED_RATIO) goto out;
    result->range.low = exp(result->range.low);
    result->range.high = exp(result->range.high);
out:
    free(scratch);
    free(shifts);
    return rc;
}

status statistics_ratio(const sample_set *a, const sample_set *b, ratio *result, error *err) {
    return bootstrap(ESTIMATED_RATIO, a, b, result, err);
}

status statistics_difference(const sample_set *a, const sample_set *b, estimate *result,
                             error *err) {
    return bootstrap(ESTIMATED_DIFFERENCE, a, b, result, err);
}

status statistics_centre(const sample_set *a, estimate *result, error *err) {
    return bootstrap(ESTIMATED_CENTRE, a, NULL, result, err);
}
