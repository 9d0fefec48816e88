#include "report/statistics.h"

#include <math.h>
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

// ---- Ratio with a bootstrap interval ----

enum { RESAMPLES = 2000 };

// Draws random integers of one resample, one after the other.
typedef struct dice {
    random_stream stream;
    uint64_t next;
} dice;

static size_t roll(dice *d, size_t n) {
    return random_below(&d->stream, d->next++, (uint32_t)n);
}

// The mean over runs of the median of a run, resampled when there are dice. `scratch` holds the
// longest run.
static double centre(const sample_set *s, dice *d, double *scratch) {
    double sum = 0;
    for (size_t i = 0; i < s->runs; i++) {
        size_t run = d && s->runs > 1 ? roll(d, s->runs) : i;
        size_t n = s->length[run];
        for (size_t k = 0; k < n; k++) scratch[k] = s->run[run][d ? roll(d, n) : k];
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
    if (s->runs >= STATISTICS_RATIO_MIN) return s->runs;
    size_t values = 0;
    for (size_t i = 0; i < s->runs; i++) values += s->length[i];
    return values;
}

static double stretch(size_t na, size_t nb) {
    double n = (double)(na < nb ? na : nb);
    return sqrt(n / (n - 1)) * statistics_t_quantile(0.975, (double)(na + nb - 2)) / z975;
}

status statistics_ratio(const sample_set *a, const sample_set *b, ratio *result, error *err) {
    status rc = STATUS_OK;
    double *scratch = NULL, *logs = NULL;
    *result = (ratio){NAN, {NAN, NAN}};
    size_t room = longest(a) > longest(b) ? longest(a) : longest(b);
    if (!room) return STATUS_OK;
    scratch = memory_new(room, sizeof *scratch, err);
    logs = memory_new(RESAMPLES, sizeof *logs, err);
    if (!scratch || !logs) {
        rc = STATUS_FAILED;
        goto out;
    }
    result->value = centre(a, NULL, scratch) / centre(b, NULL, scratch);
    size_t na = independent(a), nb = independent(b);
    if (na < STATISTICS_RATIO_MIN || nb < STATISTICS_RATIO_MIN) goto out;
    double point = log(result->value);
    for (uint32_t i = 0; i < RESAMPLES; i++) {
        dice d = {.stream = {.purpose = RANDOM_BOOTSTRAP, .epoch = i}};
        double top = centre(a, &d, scratch);
        logs[i] = log(top / centre(b, &d, scratch)) - point;
    }
    qsort(logs, RESAMPLES, sizeof *logs, by_value);
    double factor = stretch(na, nb);
    result->range.low = exp(point + factor * logs[RESAMPLES / 40 - 1]);
    result->range.high = exp(point + factor * logs[RESAMPLES - RESAMPLES / 40]);
out:
    free(scratch);
    free(logs);
    return rc;
}
