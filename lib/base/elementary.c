// SPDX-License-Identifier: MIT
#include "base/elementary.h"

// x = m 2^k with m from √½ to √2, and ln m = 2 artanh z for z = (m - 1) / (m + 1), by its series.
// `rest` is the rounding error of z.
double elementary_log(double x) {
    int k;
    double m = frexp(x, &k);
    if (m < 0.70710678118654752440) {
        m *= 2;
        k--;
    }
    const double over = m - 1, under = m + 1, z = over / under;
    const double rest = (fma(-z, under, over) - z * (m - (under - 1))) / under, s = z * z;
    double sum = 1.0 / 23;
    for (int i = 21; i >= 3; i -= 2) sum = fma(sum, s, 1.0 / i);
    const double tail = 2 * (rest + z * s * sum) + k * ELEMENTARY_LN2_LOW;
    const double most = k * ELEMENTARY_LN2_HIGH, first = most + 2 * z;
    return first + ((most - first) + 2 * z + tail);
}

// A number as the sum of two, of which the first is the sum rounded.
typedef struct pair {
    double high, low;
} pair;

static pair product(pair a, pair b) {
    const double high = a.high * b.high;
    const double low = fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high);
    const double sum = high + low;
    return (pair){sum, (high - sum) + low};
}

// By repeated squaring. Pairs of doubles keep the error of n multiplications below n / 2^102.
double elementary_power(double base, uint64_t n) {
    pair result = {1, 0}, square = {base, 0};
    for (; n; n >>= 1) {
        if (n & 1) result = product(result, square);
        square = product(square, square);
    }
    return result.high;
}
