// SPDX-License-Identifier: MIT
// exponential.h - e^x and log(1 + x), included only by kernels/*.c. They are our own: those of the
// C library differ in the last bit between versions and processors.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_EXPONENTIAL_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_EXPONENTIAL_H

#include "simd.h"

typedef struct power {
    vec value, less_one; // e^x, and e^x - 1 without cancellation
} power;

// For x ≤ 0. x = k·ln 2 + r, |r| ≤ ln 2 / 2; Taylor series of e^r to r^7 (relative error below
// 1e-8), then 2^k through the exponent bits. Below -87 the result is e^-87: the smallest normal
// numbers are negligible wherever this is used.
INLINE power power_of_e(vec x) {
    const vec round = vset(0x1.8p23f); // adding it leaves the nearest integer in the low bits
    x = vselect(x < vset(-87.0f), vset(-87.0f), x);
    vec shifted = vfma(x, vset(0x1.715476p0f), round);
    vec k = shifted - round;
    vec r = vfma(k, vset(-0x1.62e4p-1f), x); // ln 2, upper bits: the product with k is exact
    r = vfma(k, vset(-0x1.7f7d1cp-20f), r);  // and the rest
    vec p = vset(1.0f / 5040);
    p = vfma(p, r, vset(1.0f / 720));
    p = vfma(p, r, vset(1.0f / 120));
    p = vfma(p, r, vset(1.0f / 24));
    p = vfma(p, r, vset(1.0f / 6));
    p = vfma(p, r, vset(0.5f));
    p = vfma(p, r, vset(1.0f));
    const vec scale = (vec)((__builtin_convertvector(k, ivec) + 127) << 23);
    return (power){vfma(p, r, vset(1.0f)) * scale, vfma(scale, p * r, scale - vset(1.0f))};
}

INLINE vec exponential(vec x) {
    return power_of_e(x).value;
}

// log(1 + x) for 0 ≤ x ≤ 1: 2·artanh s of s = x / (2 + x), by its series to s^15 (relative error
// below 2e-9).
INLINE vec logarithm_of_one_plus(vec x) {
    const vec s = x / (vset(2.0f) + x), square = s * s;
    vec p = vset(1.0f / 15);
    p = vfma(p, square, vset(1.0f / 13));
    p = vfma(p, square, vset(1.0f / 11));
    p = vfma(p, square, vset(1.0f / 9));
    p = vfma(p, square, vset(1.0f / 7));
    p = vfma(p, square, vset(1.0f / 5));
    p = vfma(p, square, vset(1.0f / 3));
    const vec twice = s + s;
    return vfma(twice * square, p, twice);
}

#endif
