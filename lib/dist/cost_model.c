// SPDX-License-Identifier: MIT
#include "dist/cost_model.h"

#include <math.h>

double cost_model_seconds(const cost_model *m, double bytes) {
    return m->alpha + m->beta * bytes;
}

// Sums over the points, with x = 1 / seconds and y = bytes / seconds: the relative error of a point
// is α x + β y - 1.
typedef struct sums {
    double x, y, xx, xy, yy;
} sums;

static sums sum_points(const double *bytes, const double *seconds, size_t n) {
    sums s = {0};
    for (size_t i = 0; i < n; i++) {
        const double x = 1 / seconds[i], y = bytes[i] / seconds[i];
        s.x += x;
        s.y += y;
        s.xx += x * x;
        s.xy += x * y;
        s.yy += y * y;
    }
    return s;
}

static double relative_error(const cost_model *m, const double *bytes, const double *seconds,
                             size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = cost_model_seconds(m, bytes[i]) / seconds[i] - 1;
        sum += off * off;
    }
    return sqrt(sum / (double)n);
}

// If the unconstrained minimum has a negative part, the constrained one has a zero there, because
// the sum of squares is convex. Both parts cannot be negative, because all times are positive.
cost_model cost_model_fit(const double *bytes, const double *seconds, size_t n) {
    const sums s = sum_points(bytes, seconds, n);
    const double determinant = s.xx * s.yy - s.xy * s.xy;
    cost_model m = {0};
    if (determinant > 1e-12 * s.xx * s.yy) {
        m.alpha = (s.x * s.yy - s.y * s.xy) / determinant;
        m.beta = (s.y * s.xx - s.x * s.xy) / determinant;
    } else {
        m.alpha = s.x / s.xx;
    }
    if (m.alpha < 0) m = (cost_model){.beta = s.y / s.yy};
    if (m.beta < 0) m = (cost_model){.alpha = s.x / s.xx};
    m.error = relative_error(&m, bytes, seconds, n);
    return m;
}
