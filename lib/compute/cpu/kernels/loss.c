// SPDX-License-Identifier: MIT
// Softmax cross-entropy, with or without label smoothing and mixup, and its gradient. The logarithm
// is our own, like the exponential.
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

// The logit of the sample's class, or the mean of those of its two classes.
static float own_logit(const loss_task *t, int n) {
    const sample_target *to = &t->targets[n];
    const float z = t->logits[(size_t)to->label * LANES + (size_t)n];
    if (to->share == 0) return z;
    return (1.0f - to->share) * z + to->share * t->logits[(size_t)to->other * LANES + (size_t)n];
}

static void subtract_target(const loss_task *t, int n, float keep) {
    const sample_target *to = &t->targets[n];
    t->logits[(size_t)to->label * LANES + (size_t)n] -= keep * (1.0f - to->share);
    if (to->share > 0) t->logits[(size_t)to->other * LANES + (size_t)n] -= keep * to->share;
}

// The loss is ln Σ e^(z - max) + keep·(max - z_own) + share·Σ (max - z), where `share` is s / K
// and `keep` 1 - s. Without smoothing the last term is left out, not added as 0.
float KERNEL(loss)(const loss_task *t) {
    const float keep = 1.0f - t->smoothing, share = t->smoothing / (float)t->classes;
    float losses[LANES] __attribute__((aligned(64))), own[LANES] __attribute__((aligned(64))) = {0};
    for (int n = 0; n < t->samples; n++) own[n] = own_logit(t, n);
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        float *z = t->logits + slice * VL;
        vec largest = vload(z), sum = vset(0.0f), gaps = vset(0.0f);
        for (int j = 1; j < t->classes; j++) {
            vec v = vload(z + (size_t)j * LANES);
            largest = vselect(v > largest, v, largest);
        }
        for (int j = 0; j < t->classes; j++) {
            vec below = vload(z + (size_t)j * LANES) - largest, e = exponential(below);
            gaps -= below;
            vstore(z + (size_t)j * LANES, e);
            sum += e;
        }
        // A NaN logit makes `sum` a NaN, which must reach the loss: the logarithm, working on bits,
        // would lose it.
        vec poison = sum * vset(0.0f), gap = largest - vload(own + slice * VL);
        if (share > 0) gap = vfma(vset(keep), gap, vset(share) * gaps);
        vstore(losses + slice * VL, logarithm(sum) + gap + poison);
        for (int j = 0; j < t->classes; j++)
            vstore(z + (size_t)j * LANES, vload(z + (size_t)j * LANES) / sum - vset(share));
    }
    for (int n = 0; n < t->samples; n++) subtract_target(t, n, keep);
    for (int n = t->samples; n < LANES; n++) {
        losses[n] = 0.0f;
        for (int j = 0; j < t->classes; j++) t->logits[(size_t)j * LANES + (size_t)n] = 0.0f;
    }
    return sum_by_halves(losses);
}
