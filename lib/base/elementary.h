// SPDX-License-Identifier: MIT
// elementary.h - elementary functions whose bits depend on no mathematical library: they consist of
// additions, multiplications, divisions and fused multiply-adds, which IEEE 754 rounds in one way.
//
// The functions of C libraries differ in the last bit between versions and, in glibc, which chooses
// among implementations by the processor's features, between processors. So every number that a
// model is made of comes from here. Exact functions (sqrt, fma, rint, floor, frexp …) have the same
// bits everywhere and are used directly. `make check-libm` finds calls of all others.
//
// Errors are given in units in the last place (ulp) of the result, its rounding included.
// tests/unit/test_elementary.c measures them against long double.
#ifndef LOCKSTEP_BASE_ELEMENTARY_H
#define LOCKSTEP_BASE_ELEMENTARY_H

#include <math.h>
#include <stdint.h>

#include "base/host_device.h"

// Returns the natural logarithm of a normal number x > 0, within 0.6 ulp.
double elementary_log(double x);

// Returns base^n for 0 ≤ base ≤ 1 and n up to 2^40, within 0.51 ulp if it is above 1e-290.
double elementary_power(double base, uint64_t n);

// ---- Exponential, sine and cosine, inline because kernels call them ----

// ln 2 in two parts. The first one has 33 bits, so its product with an exponent is exact.
#define ELEMENTARY_LN2_HIGH 0x1.62e42feep-1
#define ELEMENTARY_LN2_LOW  0x1.a39ef35793c76p-33

// Returns e^x, within 0.7 ulp; 0 for x below -708, infinity above 709, NaN for NaN.
// x = k ln 2 + r with |r| ≤ ln(2)/2, and e^r by Taylor's series, without its first two terms.
HOST_DEVICE static inline double elementary_exp(double x) {
    if (isnan(x)) return x;
    if (x < -708) return 0;
    if (x > 709) return (double)INFINITY;
    const double k = rint(x * 0x1.71547652b82fep+0); // 1 / ln 2
    const double high = fma(-k, ELEMENTARY_LN2_HIGH, x), low = -k * ELEMENTARY_LN2_LOW;
    const double r = high + low;
    double sum = 1.0 / 87178291200;
    sum = fma(sum, r, 1.0 / 6227020800);
    sum = fma(sum, r, 1.0 / 479001600);
    sum = fma(sum, r, 1.0 / 39916800);
    sum = fma(sum, r, 1.0 / 3628800);
    sum = fma(sum, r, 1.0 / 362880);
    sum = fma(sum, r, 1.0 / 40320);
    sum = fma(sum, r, 1.0 / 5040);
    sum = fma(sum, r, 1.0 / 720);
    sum = fma(sum, r, 1.0 / 120);
    sum = fma(sum, r, 1.0 / 24);
    sum = fma(sum, r, 1.0 / 6);
    sum = fma(sum, r, 0.5);
    const double first = 1 + high;
    return ldexp(first + ((1 - first) + high + fma(r * r, sum, low)), (int)k);
}

// x right angles in radians, as the sum of two numbers.
typedef struct elementary_angle {
    double high, low;
} elementary_angle;

HOST_DEVICE static inline elementary_angle elementary_radians(double x) {
    const double high = 0x1.921fb54442d18p+0, low = 0x1.1a62633145c07p-54; // π/2
    elementary_angle a;
    a.high = x * high;
    a.low = fma(x, high, -a.high) + x * low;
    return a;
}

// Return the sine and the cosine of x right angles for -1/2 ≤ x ≤ 1/2, within 0.75 ulp (the sine:
// if |x| is above 1e-290). Taylor's series; its largest terms and their rounding errors are added
// last.
HOST_DEVICE static inline double elementary_short_sine(double x) {
    const elementary_angle a = elementary_radians(x);
    const double s = a.high * a.high;
    double sum = 1.0 / 355687428096000;
    sum = fma(sum, s, -1.0 / 1307674368000);
    sum = fma(sum, s, 1.0 / 6227020800);
    sum = fma(sum, s, -1.0 / 39916800);
    sum = fma(sum, s, 1.0 / 362880);
    sum = fma(sum, s, -1.0 / 5040);
    sum = fma(sum, s, 1.0 / 120);
    sum = fma(sum, s, -1.0 / 6);
    return a.high + fma(a.high * s, sum, a.low * (1 - 0.5 * s));
}

HOST_DEVICE static inline double elementary_short_cosine(double x) {
    const elementary_angle a = elementary_radians(x);
    const double s = a.high * a.high, rest = fma(a.high, a.high, -s), first = 1 - 0.5 * s;
    double sum = 1.0 / 20922789888000;
    sum = fma(sum, s, -1.0 / 87178291200);
    sum = fma(sum, s, 1.0 / 479001600);
    sum = fma(sum, s, -1.0 / 3628800);
    sum = fma(sum, s, 1.0 / 40320);
    sum = fma(sum, s, -1.0 / 720);
    sum = fma(sum, s, 1.0 / 24);
    return first + ((1 - first) - 0.5 * s + (s * s * sum - 0.5 * rest - a.high * a.low));
}

// Return the sine and the cosine of x right angles for 0 ≤ x ≤ 1, within 0.75 ulp.
HOST_DEVICE static inline double elementary_sine(double x) {
    return x <= 0.5 ? elementary_short_sine(x) : elementary_short_cosine(1 - x);
}

HOST_DEVICE static inline double elementary_cosine(double x) {
    return x <= 0.5 ? elementary_short_cosine(x) : elementary_short_sine(1 - x);
}

#endif
