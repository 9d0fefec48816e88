// Softmax cross-entropy and its gradient, with the exponential and the logarithm of
// cpu/kernels/loss.c: the polynomials and the order of additions are the same, so equal logits give
// equal bits on both.
//
// A thread has a sample. Shards may also be single groups, thousands of them, so a block works on
// groups of LOSS_GROUP threads wherever their shards lie.
#include "compute/cuda/tree.cuh"

enum { LOSS_THREADS = 64 };

// e^x for x ≤ 0. x = k·ln 2 + r, |r| ≤ ln 2 / 2; Taylor's series of e^r to r^7 (relative error
// below 1e-8), then 2^k through the exponent bits. Below -87 the result is e^-87: nothing next to
// the largest term, which is 1.
static __device__ __forceinline__ float exponential(float x) {
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
    p = fmaf(p, r, 1.0f);
    // k is in the low bits of `shifted`; what is above them leaves at the top.
    return p * __uint_as_float((__float_as_uint(shifted) + 127) << 23);
}

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

// The loss of one sample, whose logits lie `lanes` floats apart; they become its gradient.
static __device__ __forceinline__ float sample_loss(float *z, int classes, int lanes, int label) {
    const size_t step = (size_t)lanes, end = (size_t)classes * step;
    float largest = z[0], sum = 0, own = 0;
    for (size_t i = step; i < end; i += step) largest = z[i] > largest ? z[i] : largest;
    for (int j = 0; j < classes; j++) {
        const float v = z[(size_t)j * step], e = exponential(v - largest);
        if (j == label) own = v;
        z[(size_t)j * step] = e;
        sum += e;
    }
    for (int j = 0; j < classes; j++) {
        const float p = z[(size_t)j * step] / sum;
        z[(size_t)j * step] = j == label ? p - 1.0f : p;
    }
    // A NaN anywhere reaches the loss through `own` or `largest`: selects alone could lose it.
    return logarithm(sum) + (largest - own) + sum * 0.0f;
}

static __host__ __device__ __forceinline__ unsigned groups_of(int lanes) {
    return blocks_for((size_t)lanes, LOSS_GROUP);
}

static __global__ void loss(cut c, loss_task t) {
    const unsigned i = blockIdx.x * LOSS_THREADS + threadIdx.x, groups = groups_of(c.lanes);
    const unsigned group = i / LOSS_GROUP, lane = group % groups * LOSS_GROUP + i % LOSS_GROUP;
    const int shard = c.first + (int)(group / groups);
    const bool here = shard < c.end && lane < (unsigned)c.lanes;
    float own = 0;
    if (here) {
        float *z = t.logits + (size_t)shard * (size_t)t.classes * (size_t)c.lanes + lane;
        if ((int)lane < c.count[shard])
            own = sample_loss(z, t.classes, c.lanes,
                              t.labels[(size_t)shard * (size_t)c.lanes + lane]);
        else
            for (int j = 0; j < t.classes; j++) z[(size_t)j * (size_t)c.lanes] = 0;
    }
    for (int distance = LOSS_GROUP / 2; distance > 0; distance /= 2)
        own += __shfl_xor_sync(ALL_LANES, own, distance);
    if (here && i % LOSS_GROUP == 0) t.losses[(size_t)shard * groups + group % groups] = own;
}

void cuda_loss(cudaStream_t s, const cut *c, const loss_task *t) {
    const size_t groups = (size_t)(c->end - c->first) * groups_of(c->lanes);
    if (groups == 0) return;
    LAUNCH(loss, blocks_for(groups * LOSS_GROUP, LOSS_THREADS), LOSS_THREADS, s, *c, *t);
}

// ---- Into the records ----

// One warp a shard: along the tree of its groups, in which those without a sample change nothing.
static __global__ void loss_records(cut c, const float *losses, const int *first_group,
                                    record_set records, size_t at) {
    const unsigned groups = groups_of(c.lanes), lane = threadIdx.x;
    const size_t shard = (size_t)c.first + blockIdx.x;
    const unsigned filled = groups_of(c.count[shard]); // those with samples, the first ones
    const size_t begin = first_group ? (size_t)first_group[shard] : shard * groups;
    tree<float> along;
    along.leaves = 0;
    for (unsigned first = 0; first < groups; first += WARP) {
        const unsigned group = first + lane;
        float sum = group < filled ? losses[begin + group] : 0;
        for (int distance = 1; distance < WARP; distance *= 2)
            sum += __shfl_xor_sync(ALL_LANES, sum, distance);
        tree_push(&along, sum);
    }
    float *tail = records.base + shard * records.stride + at;
    const float total = tree_total(&along);
    if (lane < RECORD_EXTRA) tail[lane] = lane == 0 ? total : 0;
}

void cuda_loss_records(cudaStream_t s, const cut *c, const float *losses, const int *first_group,
                       const record_set *r, size_t at) {
    const unsigned shards = (unsigned)(c->end - c->first);
    if (shards == 0) return;
    LAUNCH(loss_records, shards, WARP, s, *c, losses, first_group, *r, at);
}
