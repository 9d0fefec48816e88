// SPDX-License-Identifier: MIT
// activation.h - functions of each element, included only by kernels/*.c: GELU and SiLU, as in
// PyTorch (GELU by the error function, not by its approximation with tanh), and the product with a
// constant. ReLU, which only selects, is in tail.c.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_ACTIVATION_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_ACTIVATION_H

#include "exponential.h"

typedef struct slope { // of a function at one place
    vec value, derivative;
} slope;

INLINE vec absolute(vec x) {
    return (vec)((ivec)x & 0x7fffffff);
}

// erfc(z) for z ≥ 0, as t·e^(p(t) - z²), t = 1 / (1 + z/2). p is of degree 9 and goes through
// ln(erfc(z) / t) + z² at the ten Chebyshev nodes of z in [0, 9.4]; it is off by less than 6e-8.
// For larger z erfc(z) is below 1e-38.
INLINE vec erfc_of(vec z) {
    const vec t = vset(1.0f) / vfma(z, vset(0.5f), vset(1.0f));
    vec p = vset(0x1.2330p-3f);
    p = vfma(p, t, vset(-0x1.54cb6cp-1f));
    p = vfma(p, t, vset(0x1.1ec8c4p+0f));
    p = vfma(p, t, vset(-0x1.4b108cp-1f));
    p = vfma(p, t, vset(-0x1.f55cd4p-4f));
    p = vfma(p, t, vset(0x1.8e5edep-6f));
    p = vfma(p, t, vset(0x1.b22544p-6f));
    p = vfma(p, t, vset(0x1.8db8e6p-2f));
    p = vfma(p, t, vset(0x1.ff30dp-1f));
    p = vfma(p, t, vset(-0x1.43f3aep+0f));
    return t * exponential(vfma(-z, z, p));
}

// x·Φ(x), Φ the distribution function of the standard normal distribution. Its derivative is Φ(x) +
// x·φ(x). Φ of a negative number is computed directly: as 1 - Φ(-x) it would lose its digits.
INLINE slope gelu(vec x, const bool DERIVATIVE) {
    const vec tail = vset(0.5f) * erfc_of(absolute(x) * vset(0x1.6a09e6p-1f)); // √½
    const vec cumulative = vselect(x < vset(0.0f), tail, vset(1.0f) - tail);
    slope s = {x * cumulative, vset(0.0f)};
    if (DERIVATIVE) {
        const vec density = vset(0x1.988454p-2f) * exponential(vset(-0.5f) * x * x); // 1 / √(2π)
        s.derivative = vfma(x, density, cumulative);
    }
    return s;
}

// x·σ(x), σ(x) = 1 / (1 + e^-x). Its derivative is σ(x) + x·σ(x)·σ(-x).
INLINE slope silu(vec x, const bool DERIVATIVE) {
    const vec e = exponential(-absolute(x)), far = vset(1.0f) / (vset(1.0f) + e), near = e * far;
    const vec sigma = vselect(x < vset(0.0f), near, far);
    return (slope){x * sigma, DERIVATIVE ? vfma(x, near * far, sigma) : vset(0.0f)};
}

// `factor` is that of SCALE.
INLINE slope activate(vec x, vec factor, const activation_kind A, const bool DERIVATIVE) {
    if (A == ACTIVATION_SCALE) return (slope){factor * x, factor};
    return A == ACTIVATION_GELU ? gelu(x, DERIVATIVE) : silu(x, DERIVATIVE);
}

#endif
