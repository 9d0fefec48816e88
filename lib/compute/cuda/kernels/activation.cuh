// SPDX-License-Identifier: MIT
// activation.cuh - WORD_at of each row of SMOOTH_LAYERS, and the product with a constant, by the
// formulas of cpu/kernels/activation.h, which explains them: equal bits.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_ACTIVATION_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_ACTIVATION_CUH

#include "compute/cuda/kernels/exponential.cuh"

struct slope { // of a function at one place
    float value, derivative;
};

struct argument { // with the numbers of the layer
    float x, factor, threshold;
};

// -|x|, but no less than -87; a NaN stays one.
static __device__ __forceinline__ float negative_part(float x) {
    const float minus = __uint_as_float(__float_as_uint(x) | 0x80000000u);
    return -87.0f > minus ? -87.0f : minus;
}

// x·F(x) and its derivative, of F(-|x|) and of two factors of the derivative at -|x|.
static __device__ __forceinline__ float to_value(float x, float minus, float tail) {
    return fmaf(minus, tail, 0.0f > x ? 0.0f : x);
}
static __device__ __forceinline__ float to_derivative(float x, float a, float b) {
    const bool below = __float_as_uint(x) >> 31;
    return below ? fmaf(a, b, 0.0f) : fmaf(-a, b, 1.0f);
}

// Φ(-a)·e^(a²/2) for a = -minus
static __device__ __forceinline__ float scaled_epilogue(float minus) {
    const float quarter = 0.25f * minus, u = quarter / (quarter - 1.0f);
    float p = 0x1.89df42p-4f;
    p = fmaf(p, u, -0x1.3c72e2p-2f);
    p = fmaf(p, u, 0x1.2f4f58p-3f);
    p = fmaf(p, u, 0x1.b94782p-1f);
    p = fmaf(p, u, -0x1.0d7aeep+1f);
    p = fmaf(p, u, 0x1.33bba8p+1f);
    p = fmaf(p, u, -0x1.988442p+0f);
    return fmaf(p, u, 0.5f);
}

static __device__ __forceinline__ slope gelu_at(const argument &a) {
    const float x = a.x;
    const float minus = negative_part(x), scaled = scaled_epilogue(minus);
    const float e = exponential(-0.5f * x * x);
    return slope{to_value(x, minus, scaled * e),
                 to_derivative(x, fmaf(minus, 0x1.988454p-2f, scaled), e)}; // 1 / √(2π)
}

static __device__ __forceinline__ slope silu_at(const argument &a) {
    const float x = a.x;
    const float minus = negative_part(x), e = exponential(minus), sum = 1.0f + e;
    const float far = 1.0f / sum;
    return slope{(x < 0.0f ? minus * e : x) / sum,
                 to_derivative(x, e * far, fmaf(minus, far, 1.0f))};
}

static __device__ __forceinline__ slope mish_at(const argument &a) {
    const float minus = negative_part(a.x), e = exponential(minus);
    const bool below = a.x < 0.0f;
    const float n = fmaf(e, below ? e : 2.0f, below ? 2.0f * e : 1.0f);
    const float rest = below ? 2.0f : 2.0f * e * e, sum = n + rest;
    const float sigma = (below ? e : 1.0f) / (1.0f + e);
    const float steep = rest / sum * ((n + sum) / sum) * sigma;
    return slope{(below ? minus : a.x) * (n / sum), fmaf(below ? minus : -minus, steep, n / sum)};
}

// ---- x above 0, another function below ----

static __device__ __forceinline__ slope below_zero(float x, float value, float derivative) {
    return x > 0.0f ? slope{x, 1.0f} : slope{value, derivative};
}

static __device__ __forceinline__ slope leaky_relu_at(const argument &a) {
    return below_zero(a.x, a.factor * a.x, a.factor);
}

static __device__ __forceinline__ float at_most_zero(float x) {
    return x > 0.0f ? 0.0f : x;
}

static __device__ __forceinline__ slope elu_at(const argument &a) {
    const power p = power_of_e(at_most_zero(a.x));
    return below_zero(a.x, a.factor * p.less_one, a.factor * p.value);
}

static __device__ __forceinline__ slope celu_at(const argument &a) {
    const power p = power_of_e(at_most_zero(a.x) / a.factor);
    return below_zero(a.x, a.factor * p.less_one, p.value);
}

static __device__ __forceinline__ slope softplus_at(const argument &a) {
    const float x = a.factor * a.x, e = exponential(negative_part(x));
    const float sum = (0.0f > x ? 0.0f : x) + logarithm_of_one_plus(e);
    const float sigma = (x < 0.0f ? e : 1.0f) / (1.0f + e);
    return x > a.threshold ? slope{a.x, 1.0f} : slope{sum / a.factor, sigma};
}

// ---- Between two limits ----

static __device__ __forceinline__ slope sigmoid_at(const argument &a) {
    const float e = exponential(negative_part(a.x)), sum = 1.0f + e;
    return slope{(a.x < 0.0f ? e : 1.0f) / sum, e / sum / sum};
}

static __device__ __forceinline__ slope tanh_at(const argument &a) {
    const float minus = __uint_as_float(__float_as_uint(a.x) | 0x80000000u);
    const power p = power_of_e(minus + minus);
    const float sum = 2.0f + p.less_one;
    const uint32_t size = __float_as_uint(p.less_one / sum) & 0x7fffffffu;
    return slope{__uint_as_float(size | (__float_as_uint(a.x) & 0x80000000u)),
                 4.0f * p.value / sum / sum};
}

static __device__ __forceinline__ float from_zero_to_six(float x) {
    return x <= 0.0f ? 0.0f : x >= 6.0f ? 6.0f : x;
}
static __device__ __forceinline__ bool is_between(float x, float low, float high) {
    return !(x <= low || x >= high);
}

static __device__ __forceinline__ slope relu6_at(const argument &a) {
    return slope{from_zero_to_six(a.x), is_between(a.x, 0, 6) ? 1.0f : 0.0f};
}

static __device__ __forceinline__ slope hard_sigmoid_at(const argument &a) {
    return slope{from_zero_to_six(a.x + 3.0f) / 6.0f, is_between(a.x, -3, 3) ? 1.0f / 6 : 0.0f};
}

static __device__ __forceinline__ slope hard_swish_at(const argument &a) {
    const float inside = a.x / 3.0f + 0.5f;
    if (a.x <= -3.0f) return slope{0.0f, 0.0f};
    return slope{a.x * hard_sigmoid_at(a).value, a.x >= 3.0f ? 1.0f : inside};
}

// The compiler leaves out the part of the result that is not used.
static __device__ __forceinline__ slope activate(float x, activation_numbers n,
                                                 activation_kind kind) {
    const argument a = {x, n.factor, n.threshold};
#define CASE(to, KIND, word, ...) \
    if (kind == ACTIVATION_##KIND) return word##_at(a);
    SMOOTH_LAYERS(CASE, )
#undef CASE
    return slope{n.factor * x, n.factor};
}

#endif
