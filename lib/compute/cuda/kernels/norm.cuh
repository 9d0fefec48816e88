// SPDX-License-Identifier: MIT
// norm.cuh - computes the results of a batch norm's sums, for the kernels that make the sums: in
// forward its statistics, and scale and shift; in backward the gradient through it. The formulas
// are those of cpu/batch_norm.c.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_NORM_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_NORM_CUH

#include "compute/cuda/kernels/tree.cuh"

static __device__ __forceinline__ double positions(shape s) {
    return (double)s.height * s.width;
}

// ---- Forward ----

struct moments {
    double count, mean, m2;
};

static __device__ __forceinline__ moments add(moments a, moments b) {
    const double count = a.count + b.count, delta = b.mean - a.mean;
    return moments{count, a.mean + delta * (b.count / count),
                   a.m2 + b.m2 + delta * delta * (a.count * b.count / count)};
}

// Moments of n values z, from the sums of z - pivot and of its square.
static __device__ __forceinline__ moments moments_of(two_sums sum, double pivot, double n) {
    const double distance = n > 0 ? sum.a / n : 0, m2 = sum.b - sum.a * distance;
    return moments{n, n > 0 ? pivot + distance : 0, m2 < 0 ? 0 : m2}; // a NaN stays one
}

static __device__ __forceinline__ void no_statistics(const norm_task &t, int shard, int channel) {
    float *gradients = t.gradients.base + (size_t)shard * t.gradients.stride + channel;
    gradients[t.mean_at] = gradients[t.variance_at] = 0;
}

// For a shard with own_count elements that `m` normalises.
static __device__ __forceinline__ void set_forward(const norm_task &t, int shard, int channel,
                                                   moments m, double own_count) {
    const float mean = (float)m.mean, rest = (float)(m.mean - (double)mean);
    const float inv_std = (float)(1.0 / sqrt(m.m2 / m.count + t.eps));
    const float scale = t.weight[channel] * inv_std;
    const size_t at = (size_t)shard * t.stride + (size_t)channel;
    float *gradients = t.gradients.base + (size_t)shard * t.gradients.stride + channel;
    t.mean[at] = mean;
    t.mean_rest[at] = rest;
    t.inv_std[at] = inv_std;
    t.scale[at] = scale;
    t.shift[at] = fmaf(-rest, scale, t.bias[channel]);
    // Weighted by this shard's elements; a single element has no unbiased variance and gets weight
    // zero.
    gradients[t.mean_at] = (float)(m.mean * own_count);
    gradients[t.variance_at] = m.count < 2 ? 0 : (float)(m.m2 / (m.count - 1) * own_count);
}

// Writes a shard's moments, as the results of cuda_norm_moments.
static __device__ __forceinline__ void set_moments(const norm_task &t, int shard, int channel,
                                                   moments own) {
    if (t.sync) {
        double *row = t.own + (size_t)shard * 2 * (size_t)t.size.channels;
        row[channel] = own.mean;
        row[t.size.channels + channel] = own.m2;
    } else if (own.count > 0) {
        set_forward(t, shard, channel, own, own.count);
    } else {
        no_statistics(t, shard, channel);
    }
}

// ---- Backward ----

// dz = gamma·inv_std·(dt - mean(dt) - xhat·mean(dt·xhat)), xhat = (z - mean)·inv_std, as
// dy·dt + z·(z - mean) + one.
struct norm_factors {
    float dy, z, one;
};

// Returns the factors from the sums of dt and dt·xhat over `count` elements; rest: mean_rest.
static __device__ __forceinline__ norm_factors norm_factors_of(float gamma, float rest,
                                                               float inv_std, two_sums sum,
                                                               double count) {
    const double factor = (double)gamma * (double)inv_std;
    const float dy = (float)factor, z = (float)(-factor * (double)inv_std * (sum.b / count));
    return norm_factors{dy, z, (float)(-(double)dy * (sum.a / count) - (double)z * (double)rest)};
}

// Writes what follows from a shard's sums of dt and dt·xhat.
static __device__ __forceinline__ void set_factors(const cuda_epilogue_task &t, int shard,
                                                   int channel, two_sums sum, int samples) {
    const size_t at = (size_t)shard * t.norm_stride + (size_t)channel;
    if (t.sync) {
        double *row = t.sums + (size_t)shard * 2 * (size_t)t.size.channels;
        row[channel] = sum.a;
        row[t.size.channels + channel] = sum.b;
    } else if (samples > 0) {
        const norm_factors f = norm_factors_of(t.weight[channel], t.mean_rest[at], t.inv_std[at],
                                               sum, samples * positions(t.size));
        t.from_dy[at] = f.dy;
        t.from_z[at] = f.z;
        t.from_one[at] = f.one;
    }
}

// Writes a shard's sums of dt and dt·xhat, as the results of cuda_epilogue_sums. In sum.b, xhat
// lacks what rounding took from the mean.
static __device__ __forceinline__ void set_gradient(const cuda_epilogue_task &t, int shard,
                                                    int channel, two_sums sum, int samples) {
    float *gradients = t.gradients.base + (size_t)shard * t.gradients.stride + channel;
    const size_t at = (size_t)shard * t.norm_stride + (size_t)channel;
    if (samples > 0) sum.b -= (double)t.mean_rest[at] * (double)t.inv_std[at] * sum.a;
    gradients[t.bias_at] = (float)sum.a;
    gradients[t.weight_at] = (float)sum.b;
    set_factors(t, shard, channel, sum, samples);
}

#endif
