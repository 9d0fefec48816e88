// SPDX-License-Identifier: MIT
// activation.cuh - WORD(x) of each row of SMOOTH_LAYERS, and the product with a constant, by the
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

static __device__ __forceinline__ slope gelu(const argument &a) {
    const float x = a.x;
    const float minus = negative_part(x), scaled = scaled_epilogue(minus);
    const float e = exponential(-0.5f * x * x);
    return slope{to_value(x, minus, scaled * e),
                 to_derivative(x, fmaf(minus, 0x1.988454p-2f, scaled), e)}; // 1 / √(2π)
}

static __device__ __forceinline__ slope silu(const argument &a) {
    const float x = a.x;
    const float minus = negative_part(x), e = exponential(minus), sum = 1.0f + e;
    const float far = 1.0f / sum;
    return slope{(x < 0.0f ? minus * e : x) / sum,
                 to_derivative(x, e * far, fmaf(minus, far, 1.0f))};
}

// The compiler leaves out the part of the result that is not used.
static __device__ __forceinline__ slope activate(float x, activation_numbers n,
                                                 activation_kind kind) {
    const argument a = {x, n.factor, n.threshold};
#define CASE(to, KIND, word, ...) \
    if (kind == ACTIVATION_##KIND) return word(a);
    SMOOTH_LAYERS(CASE, )
#undef CASE
    return slope{n.factor * x, n.factor};
}

#endif
