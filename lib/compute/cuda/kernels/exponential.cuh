// SPDX-License-Identifier: MIT
// exponential.cuh - e^x and log(1 + x) by the formulas of cpu/kernels/exponential.h, with equal
// bits.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXPONENTIAL_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXPONENTIAL_CUH

#include "compute/cuda/kernels/device.cuh"

struct power {
    float value, less_one; // e^x, and e^x - 1 without cancellation
};

// For x ≤ 0. x = k·ln 2 + r, |r| ≤ ln 2 / 2; Taylor's series of e^r to r^7 (relative error
// below 1e-8), then 2^k through the exponent bits. Below -87 the result is e^-87: the smallest
// normal numbers are negligible wherever this is used.
static __device__ __forceinline__ power power_of_e(float x) {
    const float round = 0x1.8p23f; // adding it leaves the nearest integer in the low bits
    x = x < -87.0f ? -87.0f : x;
    const float shifted = fmaf(x, 0x1.715476p0f, round), k = shifted - round;
    float r = fmaf(k, -0x1.62e4p-1f, x); // ln 2, upper bits: k times it is exact
    r = fmaf(k, -0x1.7f7d1cp-20f, r);    // and the rest
    float p = 1.0f / 5040;
    p = fmaf(p, r, 1.0f / 720);
    p = fmaf(p, r, 1.0f / 120);
    p = fmaf(p, r, 1.0f / 24);
    p = fmaf(p, r, 1.0f / 6);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    // k is in the low bits of `shifted`; the shift moves the bits above them out.
    const float scale = __uint_as_float((__float_as_uint(shifted) + 127) << 23);
    return power{fmaf(p, r, 1.0f) * scale, fmaf(scale, p * r, scale - 1.0f)};
}

static __device__ __forceinline__ float exponential(float x) {
    return power_of_e(x).value;
}

// log(1 + x) for 0 ≤ x ≤ 1.
static __device__ __forceinline__ float logarithm_of_one_plus(float x) {
    const float s = x / (2.0f + x), square = s * s;
    float p = 1.0f / 15;
    p = fmaf(p, square, 1.0f / 13);
    p = fmaf(p, square, 1.0f / 11);
    p = fmaf(p, square, 1.0f / 9);
    p = fmaf(p, square, 1.0f / 7);
    p = fmaf(p, square, 1.0f / 5);
    p = fmaf(p, square, 1.0f / 3);
    const float twice = s + s;
    return fmaf(twice * square, p, twice);
}

#endif
