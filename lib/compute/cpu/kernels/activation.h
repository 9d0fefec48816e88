// SPDX-License-Identifier: MIT
// activation.h - functions of each element, included only by kernels/*.c: WORD(argument,
// DERIVATIVE) of each row of SMOOTH_LAYERS, as in PyTorch (GELU by the error function, not by its
// approximation with tanh), and the product with a constant. ReLU is in epilogue.c.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_ACTIVATION_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_ACTIVATION_H

#include "exponential.h"

typedef struct slope { // of a function at one place
    vec value, derivative;
} slope;

typedef struct argument { // with the numbers of the layer
    vec x, factor, threshold;
} argument;

// -|x|, but no less than -87: there both functions are 0, or x, to a float's precision. Infinities
// would make NaNs of them. A NaN stays one.
INLINE vec negative_part(vec x) {
    return vlarger(vset(-87.0f), (vec)((ivec)x | INT32_MIN));
}

// Both functions are x·F(x) with F(-x) = 1 - F(x). So x·F(x) = max(x, 0) - |x|·F(-|x|), and for the
// derivative D(x) = 1 - D(-x). `tail` is F(-|x|), and a·b is D(-|x|).
INLINE vec to_value(vec x, vec minus, vec tail) {
    return vfma(minus, tail, vlarger(vset(0.0f), x));
}
INLINE vec to_derivative(vec x, vec a, vec b) {
    const ivec below = (ivec)x >> 31; // all bits, if the sign is set
    return vfma((vec)((ivec)a ^ (~below & INT32_MIN)), b, vmask(~below, vset(1.0f)));
}

// Φ(-a)·e^(a²/2) for a = -minus ≥ 0, Φ the distribution function of the standard normal
// distribution: a polynomial of u = (a/4) / (1 + a/4), exact at 0. Its weighted largest error in a
// = 0 … 13 is least: times e^(-a²/2) it is below 1.5e-8, and it is below 1.5e-6 of the value.
INLINE vec scaled_epilogue(vec minus) {
    const vec quarter = vset(0.25f) * minus, u = quarter / (quarter - vset(1.0f));
    vec p = vset(0x1.89df42p-4f);
    p = vfma(p, u, vset(-0x1.3c72e2p-2f));
    p = vfma(p, u, vset(0x1.2f4f58p-3f));
    p = vfma(p, u, vset(0x1.b94782p-1f));
    p = vfma(p, u, vset(-0x1.0d7aeep+1f));
    p = vfma(p, u, vset(0x1.33bba8p+1f));
    p = vfma(p, u, vset(-0x1.988442p+0f));
    return vfma(p, u, vset(0.5f));
}

// x·Φ(x). Its derivative is Φ(x) + x·φ(x), φ the density: both have the factor e^(-x²/2).
INLINE slope gelu(argument a, const bool DERIVATIVE) {
    const vec x = a.x;
    const vec minus = negative_part(x), scaled = scaled_epilogue(minus);
    const vec e = exponential(vset(-0.5f) * x * x);
    slope s = {to_value(x, minus, scaled * e), vset(0.0f)};
    if (DERIVATIVE)
        s.derivative = to_derivative(x, vfma(minus, vset(0x1.988454p-2f), scaled), e); // 1 / √(2π)
    return s;
}

// x·σ(x), σ(x) = 1 / (1 + e^-x). Its derivative is σ(x) + x·σ(x)·σ(-x).
INLINE slope silu(argument a, const bool DERIVATIVE) {
    const vec x = a.x;
    const vec minus = negative_part(x), e = exponential(minus), sum = vset(1.0f) + e;
    slope s = {vselect(x < vset(0.0f), minus * e, x) / sum, vset(0.0f)};
    if (DERIVATIVE) {
        const vec far = vset(1.0f) / sum;
        s.derivative = to_derivative(x, e * far, vfma(minus, far, vset(1.0f)));
    }
    return s;
}

INLINE slope activate(vec x, activation_numbers n, const activation_kind A, const bool DERIVATIVE) {
    const argument a = {x, vset(n.factor), vset(n.threshold)};
    switch (A) {
#define CASE(to, KIND, word, ...) \
    case ACTIVATION_##KIND: return word(a, DERIVATIVE);
        SMOOTH_LAYERS(CASE, )
#undef CASE
    case ACTIVATION_SCALE: return (slope){a.factor * x, a.factor};
    case ACTIVATION_NONE:
    case ACTIVATION_RELU: break; // epilogue.c
    }
    return (slope){x, vset(1.0f)};
}

#endif
