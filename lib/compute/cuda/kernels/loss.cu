// SPDX-License-Identifier: MIT
// Softmax cross-entropy, with or without label smoothing and mixup, and its gradient, with the
// formula, the exponential and the logarithm of cpu/kernels/loss.c: the polynomials and the order
// of additions are the same, so equal logits give equal bits on both.
//
// One thread per sample. Shards may also be single groups, thousands of them: a grid's x runs over
// the blocks of all shards.
#include "compute/cuda/kernels/exponential.cuh"
#include "compute/cuda/kernels/last_block.cuh"
#include "compute/cuda/kernels/tree.cuh"

enum { LOSS_THREADS = 64 }; // at most; whole warps

// ln s for normal s ≥ 1. s = m·2^k, m in [√½, √2); ln m = 2·artanh((m-1)/(m+1)) by its series to
// the 11th power.
static __device__ __forceinline__ float logarithm(float s) {
    const uint32_t bits = __float_as_uint(s), root = 0x3f3504f3; // √½
    const uint32_t k = (bits - root) >> 23;
    const float m = __uint_as_float(bits - (k << 23));
    const float f = (m - 1.0f) / (m + 1.0f), g = f * f;
    float p = 2.0f / 11;
    p = fmaf(p, g, 2.0f / 9);
    p = fmaf(p, g, 2.0f / 7);
    p = fmaf(p, g, 2.0f / 5);
    p = fmaf(p, g, 2.0f / 3);
    p = fmaf(p * g, f, f + f);
    const float e = (float)k;
    return fmaf(e, 0x1.62e4p-1f, fmaf(e, 0x1.7f7d1cp-20f, p));
}

// 1 - s, and s / K.
typedef struct label_weights {
    float keep, share;
} label_weights;

// The logits of a sample's classes.
typedef struct own_logits {
    float label, other;
} own_logits;

static __device__ __forceinline__ void find_own(own_logits *own, float z, int j, sample_target t) {
    if (j == (int)t.label) own->label = z;
    if (j == (int)t.other) own->other = z;
}

// The loss of one sample. `gaps`: the sum of largest - logit.
static __device__ __forceinline__ float loss_from(float largest, own_logits own, float sum,
                                                  float gaps, sample_target t, label_weights w) {
    const float z = t.share == 0 ? own.label : (1.0f - t.share) * own.label + t.share * own.other;
    float gap = largest - z;
    if (w.share > 0) gap = fmaf(w.keep, gap, w.share * gaps);
    // A NaN anywhere reaches the loss through `own` or `largest`: selects alone could lose it.
    return logarithm(sum) + gap + sum * 0.0f;
}

// The gradient of logit j, with probability p.
static __device__ __forceinline__ float gradient_from(float p, int j, sample_target t,
                                                      label_weights w) {
    p -= w.share;
    if (j == (int)t.label) p -= w.keep * (1.0f - t.share);
    return j == (int)t.other && t.share > 0 ? p - w.keep * t.share : p;
}

// Up to this number of logits, a thread keeps them in registers.
enum { FEW_CLASSES = 16 };

// Returns the loss of one sample, whose logits are `lanes` floats apart, and replaces them by its
// gradient.
static __device__ __forceinline__ float many_classes(float *z, int classes, int lanes,
                                                     sample_target t, label_weights w) {
    const size_t step = (size_t)lanes, end = (size_t)classes * step;
    float largest = z[0], sum = 0, gaps = 0;
    own_logits own = {0, 0};
    for (size_t i = step; i < end; i += step) largest = z[i] > largest ? z[i] : largest;
    for (int j = 0; j < classes; j++) {
        const float v = z[(size_t)j * step], e = exponential(v - largest);
        find_own(&own, v, j, t);
        gaps -= v - largest;
        z[(size_t)j * step] = e;
        sum += e;
    }
    for (int j = 0; j < classes; j++)
        z[(size_t)j * step] = gradient_from(z[(size_t)j * step] / sum, j, t, w);
    return loss_from(largest, own, sum, gaps, t, w);
}

// The same numbers in the same order, in registers between the loops.
static __device__ __forceinline__ float few_classes(float *z, int classes, int lanes,
                                                    sample_target t, label_weights w) {
    float v[FEW_CLASSES];
#pragma unroll
    for (int j = 0; j < FEW_CLASSES; j++) v[j] = j < classes ? z[(size_t)j * (size_t)lanes] : 0;
    float largest = v[0], sum = 0, gaps = 0;
    own_logits own = {0, 0};
#pragma unroll
    for (int j = 1; j < FEW_CLASSES; j++)
        if (j < classes && v[j] > largest) largest = v[j];
#pragma unroll
    for (int j = 0; j < FEW_CLASSES; j++) {
        if (j >= classes) continue;
        find_own(&own, v[j], j, t);
        gaps -= v[j] - largest;
        v[j] = exponential(v[j] - largest);
        sum += v[j];
    }
#pragma unroll
    for (int j = 0; j < FEW_CLASSES; j++) {
        if (j >= classes) continue;
        z[(size_t)j * (size_t)lanes] = gradient_from(v[j] / sum, j, t, w);
    }
    return loss_from(largest, own, sum, gaps, t, w);
}

template <bool FEW>
static __device__ __forceinline__ float sample_loss(float *z, int classes, int lanes,
                                                    sample_target t, label_weights w) {
    return FEW ? few_classes(z, classes, lanes, t, w) : many_classes(z, classes, lanes, t, w);
}

static __host__ __device__ __forceinline__ unsigned groups_of(int lanes) {
    return blocks_for((size_t)lanes, GROUP);
}

// Adds a shard's losses in one warp, along the tree of its groups; groups from `filled` on have no
// sample and contribute zero.
static __device__ __forceinline__ void sum_losses(const float *losses, unsigned groups,
                                                  unsigned filled, float *tail) {
    const unsigned lane = threadIdx.x;
    tree<float> along;
    along.leaves = 0;
    for (unsigned first = 0; first < groups; first += WARP) {
        float sum = first + lane < filled ? __ldcg(losses + first + lane) : 0;
        for (int distance = 1; distance < WARP; distance *= 2)
            sum += __shfl_xor_sync(ALL_LANES, sum, distance);
        tree_push(&along, sum);
    }
    const float total = tree_total(&along);
    if (lane < GRADIENT_TAIL) tail[lane] = lane == 0 ? total : 0;
}

template <bool FEW> static __global__ void loss(cut c, cuda_loss_task t, unsigned blocks) {
    const size_t shard = (size_t)c.first + blockIdx.x / blocks, lanes = (size_t)c.lanes;
    const unsigned lane = blockIdx.x % blocks * blockDim.x + threadIdx.x;
    const label_weights w = {1.0f - t.smoothing, t.smoothing / (float)t.classes};
    float *z = t.logits + shard * (size_t)t.classes * lanes + lane;
    float *losses = t.losses + shard * groups_of(c.lanes), own = 0;
    compute_early(shard);
    wait_for_kernels_before();
    if (lane < lanes) {
        if ((int)lane < c.count[shard])
            own = sample_loss<FEW>(z, t.classes, c.lanes, t.targets[shard * lanes + lane], w);
        else
            for (int j = 0; j < t.classes; j++) z[(size_t)j * lanes] = 0;
    }
    for (int distance = GROUP / 2; distance > 0; distance /= 2)
        own += __shfl_xor_sync(ALL_LANES, own, distance);
    if (lane < lanes && lane % GROUP == 0) losses[lane / GROUP] = own;
    if (!t.gradients.base || !is_last_block(t.counters + shard, blocks) || threadIdx.x >= WARP)
        return;
    sum_losses(losses, groups_of(c.lanes), groups_of(c.lanes),
               t.gradients.base + shard * t.gradients.stride + t.loss_at);
}

void cuda_loss(launch_stream s, const cut *c, const cuda_loss_task *t) {
    const unsigned threads = c->lanes > WARP ? (unsigned)LOSS_THREADS : (unsigned)WARP;
    const unsigned blocks = blocks_for((size_t)c->lanes, threads);
    if (c->first >= c->end) return;
    const unsigned grid = (unsigned)(c->end - c->first) * blocks;
    if (t->classes <= FEW_CLASSES)
        LAUNCH(loss<true>, grid, threads, s, *c, *t, blocks);
    else
        LAUNCH(loss<false>, grid, threads, s, *c, *t, blocks);
}

// For losses from elsewhere. One warp per shard.
static __global__ void loss_sums(cut c, const float *losses, const int *first_group,
                                 gradient_set gradients, size_t at) {
    wait_for_kernels_before();
    const size_t shard = (size_t)c.first + blockIdx.x;
    const unsigned groups = groups_of(c.lanes);
    const size_t begin = first_group ? (size_t)first_group[shard] : shard * groups;
    sum_losses(losses + begin, groups, groups_of(c.count[shard]),
               gradients.base + shard * gradients.stride + at);
}

void cuda_loss_sums(launch_stream s, const cut *c, const float *losses, const int *first_group,
                    const gradient_set *r, size_t at) {
    const unsigned shards = (unsigned)(c->end - c->first);
    if (shards == 0) return;
    LAUNCH(loss_sums, shards, WARP, s, *c, losses, first_group, *r, at);
}
