// SPDX-License-Identifier: MIT
// exact_weight.cuh - what weight gradients of convolutions share: the layout of their workspace,
// and the sums of biases, in the order of the CPU's engine: over the plane of a channel, then over
// the samples of a group by halves, then over the groups along the tree.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_WEIGHT_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_WEIGHT_CUH

#include "compute/cuda/kernels/exact/exact.cuh"

typedef struct bias_sums {
    shape size; // of dz, of one of channel_parts
    int lanes;
    int channel_parts; // cuda_conv_task
    int first;         // of these, over all shards
    unsigned blocks;   // of channels, each as plane_block makes it
    const int *count;
    const float *dz;
    float *sums;        // [channel part][group][channel]
    unsigned *counters; // [channel part of this launch][block]
    gradient_set gradients;
    size_t at;
} bias_sums;

// For block number `block` of the channels, group blockIdx.y, and part blockIdx.z. Called after the
// wait for the kernels before.
static __device__ __forceinline__ void sum_biases_of_block(const bias_sums &t, unsigned block) {
    const size_t number = (size_t)t.first + blockIdx.z, channels = (size_t)t.size.channels;
    const size_t shard = number / (size_t)t.channel_parts;
    const size_t channel = block * blockDim.z + threadIdx.z, row = (size_t)(t.size.width * t.lanes);
    const float *from = t.dz + (number * channels + channel) * (size_t)t.size.height * row +
                        blockIdx.y * GROUP + threadIdx.x;
    float *sums = t.sums + number * groups_of(t.lanes) * channels + channel;
    const int samples = t.count[shard], own = samples_of_group(samples, blockIdx.y);
    if (own <= 0) return;
    const bool live = channel < channels && (int)threadIdx.x < own;
    const two_floats total = sum_of_rows(t.size.height, live, [&](int y) {
        const float *in = from + (size_t)y * row;
        return sum_of_row(
            t.size.width, [&](int x) { return in[(size_t)x * (size_t)t.lanes]; },
            [](float v, bool exists, two_floats &sum) { sum.a += exists ? v : 0.0f; });
    });
    const float sum = sum_by_halves(total.a, cpu_lanes(t.lanes));
    const bool leads = threadIdx.x == 0 && threadIdx.y == 0 && channel < channels;
    if (leads) sums[blockIdx.y * channels] = sum;
    const unsigned groups = groups_of(samples);
    if (!is_last_block(t.counters + blockIdx.z * t.blocks + block, groups) || !leads) return;
    float *to = t.gradients.base + shard * t.gradients.stride + t.at;
    to[number % (size_t)t.channel_parts * channels + channel] =
        tree_sum<float>(groups, [&](unsigned g) { return __ldcg(sums + g * channels); });
}

// ---- Launching ----

static inline size_t columns_of(const cuda_conv_task *t) {
    return (size_t)(t->in.channels * t->kernel_h * t->kernel_w);
}

static inline size_t weights_of(const cuda_conv_task *t) {
    return (size_t)t->out.channels * columns_of(t);
}

static inline unsigned parts_of(const cut *c, const cuda_conv_task *t) {
    return (unsigned)((c->end - c->first) * t->channel_parts);
}

// The sums of weights, then those of biases.
static inline size_t weight_sums_of(const cuda_conv_task *t, int lanes, int shards) {
    return (size_t)(shards * t->channel_parts) * groups_of(lanes) * weights_of(t);
}

// For blocks of that shape.
static inline bias_sums biases_of(const cut *c, const cuda_conv_task *t, dim3 block) {
    bias_sums b = {};
    b.size = t->out;
    b.lanes = c->lanes;
    b.channel_parts = t->channel_parts;
    b.first = c->first * t->channel_parts;
    b.blocks = t->bias ? blocks_for((size_t)t->out.channels, block.z) : 0;
    b.count = c->count;
    b.dz = t->z;
    b.sums = t->workspace + weight_sums_of(t, c->lanes, c->end);
    b.counters = t->counters;
    b.gradients = t->gradients;
    b.at = t->bias_at;
    return b;
}

#endif
