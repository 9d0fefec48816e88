// SPDX-License-Identifier: MIT
// Softmax cross-entropy and its gradient. The logarithm is our own, like the exponential.
#include "exponential.h"

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
