// SPDX-License-Identifier: MIT
#include "nn/normal.h"

#include <math.h>

// Returns the natural logarithm of x > 0: that of its mantissa m, from √½ to √2, by the series of
// 2 artanh((m - 1) / (m + 1)), whose terms fall by a factor of 34.
static double logarithm(double x) {
    const double ln2 = 0.69314718055994530942, root = 0.70710678118654752440;
    int exponent;
    double m = frexp(x, &exponent), sum = 0;
    if (m < root) {
        m *= 2;
        exponent--;
    }
    const double z = (m - 1) / (m + 1), square = z * z;
    for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
    return 2 * z * sum + exponent * ln2;
}

// Return the sine and the cosine of an angle up to an eighth of a circle, by Taylor's series.
static double short_sine(double a) {
    const double square = a * a;
    double sum = 1;
    for (int k = 16; k >= 2; k -= 2) sum = 1 - sum * square / (k * (k + 1));
    return a * sum;
}

static double short_cosine(double a) {
    const double square = a * a;
    double sum = 1;
    for (int k = 17; k >= 1; k -= 2) sum = 1 - sum * square / (k * (k + 1));
    return sum;
}

// Returns the sine of `turn` / 2^32 of a circle. Of its quarters the second runs backward, and the
// last two are negative.
static double sine_of_turn(uint32_t turn) {
    const double right_angle = 1.57079632679489661923, quarter = 0x1p30;
    const uint32_t part = turn & 0x3fffffffu;
    const double at = (turn >> 30 & 1 ? quarter - part : part) / quarter;
    const double sine =
        at <= 0.5 ? short_sine(at * right_angle) : short_cosine((1 - at) * right_angle);
    return turn >> 31 ? -sine : sine;
}

double normal_number(const random_stream *s, uint64_t element) {
    const uint64_t pair = element & ~UINT64_C(1);
    const double uniform = (random_bits(s, pair) + 0.5) * 0x1p-32; // never 0
    const uint32_t turn = random_bits(s, pair + 1);
    const uint32_t quarter = UINT32_C(1) << 30; // the cosine is a sine, a quarter ahead
    return sqrt(-2 * logarithm(uniform)) * sine_of_turn(element & 1 ? turn : turn + quarter);
}
