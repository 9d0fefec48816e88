// SPDX-License-Identifier: MIT
// activation.h - functions of each element, included only by kernels/*.c: WORD_at of
// each row of SMOOTH_LAYERS, as in PyTorch (GELU by the error function, not by its
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
INLINE slope gelu_at(argument a, const bool DERIVATIVE) {
    const vec x = a.x;
    const vec minus = negative_part(x), scaled = scaled_epilogue(minus);
    const vec e = exponential(vset(-0.5f) * x * x);
    slope s = {to_value(x, minus, scaled * e), vset(0.0f)};
    if (DERIVATIVE)
        s.derivative = to_derivative(x, vfma(minus, vset(0x1.988454p-2f), scaled), e); // 1 / √(2π)
    return s;
}

// x·σ(x), σ(x) = 1 / (1 + e^-x). Its derivative is σ(x) + x·σ(x)·σ(-x).
INLINE slope silu_at(argument a, const bool DERIVATIVE) {
    const vec x = a.x;
    const vec minus = negative_part(x), e = exponential(minus), sum = vset(1.0f) + e;
    slope s = {vselect(x < vset(0.0f), minus * e, x) / sum, vset(0.0f)};
    if (DERIVATIVE) {
        const vec far = vset(1.0f) / sum;
        s.derivative = to_derivative(x, e * far, vfma(minus, far, vset(1.0f)));
    }
    return s;
}

// x·tanh(log(1 + e^x)). With e = e^-|x| the hyperbolic tangent is n / (n + rest), and what its
// square lacks to 1 is rest·(2n + rest) / (n + rest)².
INLINE slope mish_at(argument a, const bool DERIVATIVE) {
    const vec minus = negative_part(a.x), e = exponential(minus), two = vset(2.0f);
    const ivec below = a.x < vset(0.0f);
    const vec n = vfma(e, vselect(below, e, two), vselect(below, two * e, vset(1.0f)));
    const vec rest = vselect(below, two, two * e * e), sum = n + rest;
    slope s = {vselect(below, minus, a.x) * (n / sum), vset(0.0f)};
    if (DERIVATIVE) {
        const vec sigma = vselect(below, e, vset(1.0f)) / (vset(1.0f) + e);
        const vec steep = rest / sum * ((n + sum) / sum) * sigma;
        s.derivative = vfma(vselect(below, minus, -minus), steep, n / sum);
    }
    return s;
}

// ---- x above 0, another function below ----

INLINE slope below_zero(vec x, vec value, vec derivative, const bool DERIVATIVE) {
    const ivec above = x > vset(0.0f);
    slope s = {vselect(above, x, value), vset(0.0f)};
    if (DERIVATIVE) s.derivative = vselect(above, vset(1.0f), derivative);
    return s;
}

INLINE slope leaky_relu_at(argument a, const bool DERIVATIVE) {
    return below_zero(a.x, a.factor * a.x, a.factor, DERIVATIVE);
}

// A NaN stays one.
INLINE vec at_most_zero(vec x) {
    return vselect(x > vset(0.0f), vset(0.0f), x);
}

// factor·(e^x - 1)
INLINE slope elu_at(argument a, const bool DERIVATIVE) {
    const power p = power_of_e(at_most_zero(a.x));
    return below_zero(a.x, a.factor * p.less_one, a.factor * p.value, DERIVATIVE);
}

// factor·(e^(x / factor) - 1)
INLINE slope celu_at(argument a, const bool DERIVATIVE) {
    const power p = power_of_e(at_most_zero(a.x) / a.factor);
    return below_zero(a.x, a.factor * p.less_one, p.value, DERIVATIVE);
}

// x or, up to the threshold of factor·x, log(1 + e^(factor·x)) / factor.
INLINE slope softplus_at(argument a, const bool DERIVATIVE) {
    const vec x = a.factor * a.x, e = exponential(negative_part(x));
    const ivec far = x > a.threshold;
    const vec sum = vlarger(vset(0.0f), x) + logarithm_of_one_plus(e);
    slope s = {vselect(far, a.x, sum / a.factor), vset(0.0f)};
    if (DERIVATIVE) {
        const vec sigma = vselect(x < vset(0.0f), e, vset(1.0f)) / (vset(1.0f) + e);
        s.derivative = vselect(far, vset(1.0f), sigma);
    }
    return s;
}

// ---- Between two limits ----

// σ(x); its derivative is σ(x)·σ(-x).
INLINE slope sigmoid_at(argument a, const bool DERIVATIVE) {
    const vec e = exponential(negative_part(a.x)), sum = vset(1.0f) + e;
    slope s = {vselect(a.x < vset(0.0f), e, vset(1.0f)) / sum, vset(0.0f)};
    if (DERIVATIVE) s.derivative = e / sum / sum;
    return s;
}

// m / (2 + m) of m = e^(-2|x|) - 1, with the sign of x.
INLINE slope tanh_at(argument a, const bool DERIVATIVE) {
    const vec minus = (vec)((ivec)a.x | INT32_MIN);
    const power p = power_of_e(minus + minus);
    const vec sum = vset(2.0f) + p.less_one;
    const ivec size = (ivec)(p.less_one / sum) & INT32_MAX;
    slope s = {(vec)(size | ((ivec)a.x & INT32_MIN)), vset(0.0f)};
    if (DERIVATIVE) s.derivative = vset(4.0f) * p.value / sum / sum;
    return s;
}

// min(max(x, 0), 6). A NaN, and its gradient, passes both limits; here and in the next two the
// derivative at a limit is that of the level side.
INLINE vec from_zero_to_six(vec x) {
    return vmask(~(x <= vset(0.0f)), vselect(x >= vset(6.0f), vset(6.0f), x));
}
INLINE ivec is_between(vec x, float low, float high) {
    return ~((x <= vset(low)) | (x >= vset(high)));
}

INLINE slope relu6_at(argument a, const bool DERIVATIVE) {
    slope s = {from_zero_to_six(a.x), vset(0.0f)};
    if (DERIVATIVE) s.derivative = vmask(is_between(a.x, 0, 6), vset(1.0f));
    return s;
}

// relu6(x + 3) / 6
INLINE slope hard_sigmoid_at(argument a, const bool DERIVATIVE) {
    slope s = {from_zero_to_six(a.x + vset(3.0f)) / vset(6.0f), vset(0.0f)};
    if (DERIVATIVE) s.derivative = vmask(is_between(a.x, -3, 3), vset(1.0f / 6));
    return s;
}

// x·relu6(x + 3) / 6, whose limits are 0 and x.
INLINE slope hard_swish_at(argument a, const bool DERIVATIVE) {
    const ivec live = ~(a.x <= vset(-3.0f));
    slope s = {vmask(live, a.x * hard_sigmoid_at(a, false).value), vset(0.0f)};
    if (DERIVATIVE) {
        const vec inside = a.x / vset(3.0f) + vset(0.5f);
        s.derivative = vmask(live, vselect(a.x >= vset(3.0f), vset(1.0f), inside));
    }
    return s;
}

INLINE slope activate(vec x, activation_numbers n, const activation_kind A, const bool DERIVATIVE) {
    const argument a = {x, vset(n.factor), vset(n.threshold)};
    switch (A) {
#define CASE(to, KIND, word, ...) \
    case ACTIVATION_##KIND: return word##_at(a, DERIVATIVE);
        SMOOTH_LAYERS(CASE, )
#undef CASE
    case ACTIVATION_SCALE: return (slope){a.factor * x, a.factor};
    case ACTIVATION_NONE:
    case ACTIVATION_RELU: break; // epilogue.c
    }
    return (slope){x, vset(1.0f)};
}

#endif
