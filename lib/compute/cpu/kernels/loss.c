// SPDX-License-Identifier: MIT
// Softmax cross-entropy and its gradient. The exponential and the logarithm are our own: those of
// the C library differ in the last bit between versions and processors.
#include "simd.h"

// e^x for x ≤ 0. x = k·ln 2 + r, |r| ≤ ln 2 / 2; Taylor series of e^r to r^7 (relative error below
// 1e-8), then 2^k through the exponent bits. Below -87 the result is e^-87, which is negligible
// next to the largest term, 1.
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

// ln s for normal s ≥ 1. s = m·2^k, m in [√½, √2); ln m = 2·artanh((m-1)/(m+1)) by its series to
// the 11th power.
INLINE vec logarithm(vec s) {
    ivec bits = (ivec)s;
    ivec k = ((bits - 0x3f3504f3) >> 23); // 0x3f3504f3: √½
    vec m = (vec)(bits - (k << 23));
    vec f = (m - vset(1.0f)) / (m + vset(1.0f)), g = f * f;
    vec p = vset(2.0f / 11);
    p = vfma(p, g, vset(2.0f / 9));
    p = vfma(p, g, vset(2.0f / 7));
    p = vfma(p, g, vset(2.0f / 5));
    p = vfma(p, g, vset(2.0f / 3));
    p = vfma(p * g, f, f + f);
    vec e = __builtin_convertvector(k, vec);
    return vfma(e, vset(0x1.62e4p-1f), vfma(e, vset(0x1.7f7d1cp-20f), p));
}

float KERNEL(loss)(const loss_task *t) {
    float losses[LANES] __attribute__((aligned(64))), own[LANES] __attribute__((aligned(64))) = {0};
    for (int n = 0; n < t->samples; n++)
        own[n] = t->logits[(size_t)t->labels[n] * LANES + (size_t)n];
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        float *z = t->logits + slice * VL;
        vec largest = vload(z), sum = vset(0.0f);
        for (int j = 1; j < t->classes; j++) {
            vec v = vload(z + (size_t)j * LANES);
            largest = vselect(v > largest, v, largest);
        }
        for (int j = 0; j < t->classes; j++) {
            vec e = exponential(vload(z + (size_t)j * LANES) - largest);
            vstore(z + (size_t)j * LANES, e);
            sum += e;
        }
        // A NaN logit makes `sum` a NaN, which must reach the loss: the logarithm, working on bits,
        // would lose it.
        vec poison = sum * vset(0.0f);
        vstore(losses + slice * VL, logarithm(sum) + (largest - vload(own + slice * VL)) + poison);
        for (int j = 0; j < t->classes; j++)
            vstore(z + (size_t)j * LANES, vload(z + (size_t)j * LANES) / sum);
    }
    for (int n = 0; n < t->samples; n++)
        t->logits[(size_t)t->labels[n] * LANES + (size_t)n] -= 1.0f;
    for (int n = t->samples; n < LANES; n++) {
        losses[n] = 0.0f;
        for (int j = 0; j < t->classes; j++) t->logits[(size_t)j * LANES + (size_t)n] = 0.0f;
    }
    return sum_by_halves(losses);
}
