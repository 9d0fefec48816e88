// SPDX-License-Identifier: MIT
// epilogue_window.cuh - normalise, rectify, choose: an epilogue's operations on the elements of one
// window, for the kernels of epilogue.cu and for products that apply the epilogue to their results
// (conv_finish.cuh).
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EPILOGUE_WINDOW_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EPILOGUE_WINDOW_CUH

#include "compute/cuda/kernels/device.cuh"

enum {
    WINDOW = 4, // elements of a pooling window, in row-major order
    CUT_OFF = 4 // `argmax` if none of them passes the ReLU
};

static_assert(LANE_ROUND * sizeof(uint8_t) == sizeof(uint32_t), "argmaxes are packed into words");

struct affine {
    float scale, mean, shift;
};

static __device__ __forceinline__ affine affine_of(const cuda_epilogue_task &t, int shard,
                                                   unsigned channel) {
    if (!t.norm) return affine{1, 0, 0};
    const size_t at = (size_t)shard * t.norm_stride + channel;
    return affine{t.scale[at], t.mean ? t.mean[at] : 0, t.shift[at]};
}

static __device__ __forceinline__ float normalise(const cuda_epilogue_task &t, affine a, float z) {
    return t.norm ? fmaf(a.scale, z - a.mean, a.shift) : z;
}

struct statistics {
    float mean, inv_std;
};

static __device__ __forceinline__ statistics statistics_of(const cuda_epilogue_task &t, int shard,
                                                           unsigned channel) {
    const size_t at = (size_t)shard * t.norm_stride + channel;
    return statistics{t.mean[at], t.inv_std[at]};
}

// xhat, but for what rounding took from the mean: see set_gradient
static __device__ __forceinline__ float normalised(statistics s, float z) {
    return (z - s.mean) * s.inv_std;
}

// Does this value, and its gradient, pass the ReLU? A NaN does.
static __device__ __forceinline__ bool passes(const cuda_epilogue_task &t, float v) {
    return t.activation != ACTIVATION_RELU || !(v <= 0);
}

struct choice {
    float value;
    uint32_t which;
};

// Returns the largest of a window: the first of equals, or its last NaN; CUT_OFF if it does not
// pass the ReLU.
static __device__ __forceinline__ choice pick(const cuda_epilogue_task &t, const float v[WINDOW]) {
    choice r = {v[0], 0};
    for (uint32_t j = 1; j < WINDOW; j++)
        if (v[j] > r.value || v[j] != v[j]) r = choice{v[j], j};
    return passes(t, r.value) ? r : choice{0, CUT_OFF};
}

// Returns the floats from the upper left element of a window of z to its j-th one.
static __device__ __forceinline__ unsigned window_step(shape z, int j, int lanes) {
    return ((unsigned)(j >> 1) * (unsigned)z.width + (unsigned)(j & 1)) * (unsigned)lanes;
}

// Returns `argmax` of four lanes, one byte each.
static __device__ __forceinline__ uint32_t four_argmaxes(const uint8_t *argmax) {
    return *reinterpret_cast<const uint32_t *>(argmax);
}

static __device__ __forceinline__ uint32_t argmax_of(uint32_t argmaxes, int lane) {
    return argmaxes >> (8 * lane) & 0xff;
}

#endif
