// SPDX-License-Identifier: MIT
// exponential.h - e^x, included only by kernels/*.c. It is our own: that of the C library differs
// in the last bit between versions and processors.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_EXPONENTIAL_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_EXPONENTIAL_H

#include "simd.h"

// e^x for x ≤ 0. x = k·ln 2 + r, |r| ≤ ln 2 / 2; Taylor series of e^r to r^7 (relative error below
// 1e-8), then 2^k through the exponent bits. Below -87 the result is e^-87: the smallest normal
// numbers are negligible wherever this is used.
INLINE vec exponential(vec x) {
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
    p = vfma(p, r, vset(1.0f));
    ivec power = __builtin_convertvector(k, ivec) + 127;
    return p * (vec)(power << 23);
}

#endif
