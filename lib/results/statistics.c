// SPDX-License-Identifier: MIT
#include "results/statistics.h"

#include <math.h>
#include <stdlib.h>

double statistics_mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return n ? sum / (double)n : NAN;
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
    if (isinf(df)) return erfc(fabs(t) / sqrt(2));
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

double statistics_mcnemar(int64_t only_a, int64_t only_b) {
    int64_t n = only_a + only_b, least = only_a < only_b ? only_a : only_b;
    double p = 0;
    for (int64_t k = 0; k <= least; k++)
        p += exp(log_gamma((double)n + 1) - log_gamma((double)k + 1) -
                 log_gamma((double)(n - k) + 1) - (double)n * log(2));
    return fmin(1, 2 * p);
}

mean_estimate statistics_alone(const double *x, size_t n) {
    const double count = (double)n;
    return (mean_estimate){statistics_mean(x, n), statistics_deviation(x, n) / sqrt(count),
                           count - 1};
}

mean_estimate statistics_pairs(const double *a, const double *b, size_t n) {
    const double count = (double)n;
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) mean += (a[i] - b[i]) / count;
    for (size_t i = 0; i < n; i++) square += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    return (mean_estimate){n ? mean : NAN, n < 2 ? NAN : sqrt(square / (count - 1) / count),
                           count - 1};
}

mean_estimate statistics_welch(const double *a, size_t na, const double *b, size_t nb) {
    const mean_estimate x = statistics_alone(a, na), y = statistics_alone(b, nb);
    const double u = x.error * x.error, v = y.error * y.error;
    const double df = (u + v) * (u + v) / (u * u / x.df + v * v / y.df);
    return (mean_estimate){x.value - y.value, sqrt(u + v), u + v > 0 ? df : x.df + y.df};
}

mean_estimate statistics_proportions(int64_t only_a, int64_t only_b, int64_t n) {
    const double a = (double)only_a + 0.5, b = (double)only_b + 0.5, count = (double)n + 2;
    const double difference = (a - b) / count;
    return (mean_estimate){difference,
                           sqrt((a + b) / count - difference * difference) / sqrt(count), INFINITY};
}

interval statistics_interval(const mean_estimate *m, double level) {
    if (isnan(m->error)) return (interval){NAN, NAN};
    const double half = statistics_t_quantile((1 + level) / 2, m->df) * m->error;
    return (interval){m->value - half, m->value + half};
}

estimate statistics_mean_of(const double *x, size_t n) {
    const mean_estimate m = statistics_alone(x, n);
    return (estimate){m.value, statistics_interval(&m, 0.95)};
}

estimate statistics_mean_time(const double *seconds, size_t n) {
    double sum = 0, squares = 0;
    const double count = (double)n;
    for (size_t i = 0; i < n; i++) sum += log(seconds[i]) / count;
    for (size_t i = 0; i < n; i++) squares += pow(log(seconds[i]) - sum, 2);
    const mean_estimate m = {n ? sum : NAN, n < 2 ? NAN : sqrt(squares / (count - 1) / count),
                             count - 1};
    const interval range = statistics_interval(&m, 0.95);
    return (estimate){exp(m.value), {exp(range.low), exp(range.high)}};
}

// P(T > t); 0 or 1 for a statistic without spread.
static double above(double distance, const mean_estimate *m) {
    if (m->error == 0) return distance > 0 ? 0 : 1;
    const double t = distance / m->error, p = statistics_t_p_value(t, m->df) / 2;
    return t > 0 ? p : 1 - p;
}

double statistics_p_value(const mean_estimate *m) {
    if (isnan(m->error)) return NAN;
    return fmin(1, 2 * above(fabs(m->value), m));
}

double statistics_margin_p_value(const mean_estimate *m, double margin) {
    return isnan(m->error) ? NAN : above(margin - fabs(m->value), m);
}

size_t statistics_sample_size(double effect, double test, double power, int means, size_t most) {
    for (size_t n = 2; effect > 0 && n <= most; n++) {
        const double df = (double)means * (double)(n - 1);
        const double t = statistics_t_quantile(test, df) + statistics_t_quantile(power, df);
        if (effect * sqrt((double)n) >= t) return n;
    }
    return 0;
}
