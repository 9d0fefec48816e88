// SPDX-License-Identifier: MIT
// gradient_sums.cuh - the sums for the gradient through a batch norm: of dt, the gradient of
// its output, and of dt · xhat, over a channel of a shard.
//
// Either the product that makes dy takes them (conv_finish.cuh), or a separate pass (epilogue.cu);
// the place where a pipeline is cut must not affect the bits. So their order depends on the data
// alone: first a four's lanes one after another; then the fours of the channel, in the memory order
// of y, by a perfect binary tree, neighbours first. A thread or block with 2^k fours that begin at
// a multiple of 2^k computes a subtree. Fours past the end are zeros, which change nothing.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_GRADIENT_SUMS_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_GRADIENT_SUMS_CUH

#include "compute/cuda/kernels/epilogue_window.cuh"
#include "compute/cuda/kernels/norm.cuh"

// Four lanes of z, and the lanes to which dy is propagated.
struct reached {
    float z[LANE_ROUND];
    bool through[LANE_ROUND];
};

// The first `live` lanes have a sample, possibly none; likewise below.
static __device__ __forceinline__ reached reached_at(const cuda_epilogue_task &t, affine a,
                                                     int live, const float *z) {
    const float4 f = live > 0 ? *reinterpret_cast<const float4 *>(z) : make_float4(0, 0, 0, 0);
    reached r = {{f.x, f.y, f.z, f.w}, {}};
#pragma unroll
    for (int k = 0; k < LANE_ROUND; k++)
        r.through[k] = k < live && passes(t, normalise(t, a, r.z[k]));
    return r;
}

// With pooling; z: the upper left element of the window.
static __device__ __forceinline__ reached reached_in_window(const cuda_epilogue_task &t, int lanes,
                                                            int live, const float *z,
                                                            const uint8_t *argmax) {
    const uint32_t argmaxes = live > 0 ? four_argmaxes(argmax) : 0;
    reached r;
#pragma unroll
    for (int k = 0; k < LANE_ROUND; k++) {
        const uint32_t which = argmax_of(argmaxes, k);
        r.through[k] = k < live && which != CUT_OFF;
        r.z[k] = r.through[k] ? z[window_step(t.size, (int)which, lanes) + (unsigned)k] : 0;
    }
    return r;
}

static __device__ __forceinline__ two_sums gradient_sums(const reached &r, statistics s,
                                                         const float dy[LANE_ROUND]) {
    two_sums sum = {0, 0};
#pragma unroll
    for (int k = 0; k < LANE_ROUND; k++) {
        const double dt = r.through[k] ? (double)dy[k] : 0.0;
        sum = two_sums{sum.a + dt, fma(dt, (double)normalised(s, r.z[k]), sum.b)};
    }
    return sum;
}

#endif
