// SPDX-License-Identifier: MIT
#include "base/interval.h"

#include <math.h>

interval interval_wilson(int64_t right, int64_t n) {
    const double z = 1.959963984540054; // the 97.5 % quantile of the normal distribution
    if (n <= 0) return (interval){0, 1};
    const double count = (double)n, p = (double)right / count, z2 = z * z;
    const double centre = (p + z2 / (2 * count)) / (1 + z2 / count);
    const double half = z / (1 + z2 / count) * sqrt(p * (1 - p) / count + z2 / (4 * count * count));
    return (interval){fmax(0, centre - half), fmin(1, centre + half)};
}
