// SPDX-License-Identifier: MIT
// Batch norm's statistics: of a shard, over shards, and the factors that epilogue.cu uses. The
// formulas are those of cpu/batch_norm.c.
//
// Means and squares are merged pairwise (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances", 1979), so that no large sums cancel.
#include "compute/cuda/kernels/lanes.cuh"
#include "compute/cuda/kernels/last_block.cuh"
#include "compute/cuda/kernels/norm.cuh"

enum {
    NORM_THREADS = 64,          // of a block, one per channel
    READS = 4,                  // that a thread has in flight before it uses the first
    CHANNEL_THREADS_MOST = 256, // one block takes up to this many times READS fours of a channel
};

// ---- Of one shard ----

// A thread's sums, as differences from its own pivot: floats whose squares are of the order of the
// variance, however far the mean is from zero.
struct centred {
    float pivot;
    four sum, squares; // a chain for each of the four lanes
    unsigned elements;
};

static __device__ __forceinline__ void centred_add(centred *m, const four &z, int live) {
    for (int k = 0; k < LANE_ROUND; k++) {
        if (k >= live) continue;
        const float d = z.v[k] - m->pivot;
        m->sum.v[k] += d;
        m->squares.v[k] = fmaf(d, d, m->squares.v[k]);
        m->elements++;
    }
}

// Moves the sums to the pivot that all threads share.
static __device__ __forceinline__ two_sums centred_move(const centred &m, double to) {
    const double n = m.elements, shift = (double)m.pivot - to;
    const double sum =
        ((double)m.sum.v[0] + (double)m.sum.v[1]) + ((double)m.sum.v[2] + (double)m.sum.v[3]);
    const double squares = ((double)m.squares.v[0] + (double)m.squares.v[1]) +
                           ((double)m.squares.v[2] + (double)m.squares.v[3]);
    return two_sums{fma(n, shift, sum), squares + shift * (2 * sum + n * shift)};
}

// Sums over everything that a thread reads.
static __device__ __forceinline__ centred centred_sums(const float *z, channel_walk w) {
    centred m = {};
    if (w.at < w.plane) m.pivot = z[w.at - w.lane]; // of lane 0: live if any is
    while (w.at < w.plane) {
        four f[READS];
        int live[READS];
        for (int i = 0; i < READS; i++, walk_next(&w)) {
            live[i] = walk_live(w);
            f[i] = live[i] > 0 ? load_four(z + w.at) : four{};
        }
        for (int i = 0; i < READS; i++) centred_add(&m, f[i], live[i]);
    }
    return m;
}

// Several blocks per channel, so that few channels also fill a device.
typedef struct channel_split {
    unsigned parts, threads;
} channel_split;

static channel_split split_of(shape s, int lanes) {
    const unsigned plane = plane_floats(s, lanes), each = LANE_ROUND * READS * CHANNEL_THREADS_MOST;
    const unsigned wanted = blocks_for(PROCESSORS, (unsigned)s.channels);
    const unsigned most = blocks_for(plane, each), parts = most < wanted ? most : wanted;
    return channel_split{parts, channel_threads(blocks_for(plane, parts))};
}

static __global__ void __launch_bounds__(MAX_THREADS, 1)
    shard_moments(cut c, norm_task t, unsigned parts) {
    const int shard = shard_of_block(c);
    const unsigned channel = blockIdx.x / parts, part = blockIdx.x % parts;
    const size_t number = (size_t)shard * (size_t)t.size.channels + channel;
    const float *z = t.z + number * plane_floats(t.size, c.lanes);
    compute_early(number);
    wait_for_kernels_before();
    const int samples = c.count[shard];
    const centred m = centred_sums(z, walk_begin(t.size, c.lanes, samples, part, parts));
    const double pivot = (double)z[0];
    two_sums total = sums_of_block(centred_move(m, pivot));
    double *of = t.parts + 2 * number * parts;
    if (threadIdx.x == 0) {
        of[2 * part] = total.a;
        of[2 * part + 1] = total.b;
    }
    if (!is_last_block(t.counters + number, parts) || threadIdx.x >= WARP) return;
    total = two_sums{0, 0};
    for (unsigned i = threadIdx.x; i < parts; i += WARP)
        total = add(total, two_sums{__ldcg(of + 2 * i), __ldcg(of + 2 * i + 1)});
    total = warp_sums(total);
    const double n = samples * positions(t.size);
    if (threadIdx.x == 0) set_moments(t, shard, (int)channel, moments_of(total, pivot, n));
}

parts_room cuda_norm_moments_room(shape size, int lanes, int shards) {
    const size_t channels = (size_t)shards * (size_t)size.channels;
    return {2 * channels * split_of(size, lanes).parts, channels};
}

void cuda_norm_moments(launch_stream s, const cut *c, const norm_task *t) {
    const channel_split split = split_of(t->size, c->lanes);
    const dim3 grid((unsigned)t->size.channels * split.parts, 1, (unsigned)(c->end - c->first));
    if (grid.z == 0) return;
    LAUNCH(shard_moments, grid, split.threads, s, *c, *t, split.parts);
}

// ---- Over the shards ----

static __device__ __forceinline__ two_sums row_of(const double *numbers, int shard, int channels,
                                                  int channel) {
    const double *row = numbers + (size_t)shard * 2 * (size_t)channels;
    return two_sums{row[channel], row[channels + channel]};
}

// Shards with samples come first.
static __device__ __forceinline__ bool has_shard(const norm_task &t, int v) {
    return v < t.shards && t.all_count[v] > 0;
}

static __device__ __forceinline__ moments moments_of_step(const norm_task &t, int channel) {
    tree<moments> along;
    along.leaves = 0;
    for (int v = 0; has_shard(t, v); v++) {
        const two_sums row = row_of(t.all, v, t.size.channels, channel);
        tree_push(&along, moments{t.all_count[v] * positions(t.size), row.a, row.b});
    }
    return tree_total(&along);
}

static __device__ __forceinline__ two_sums sums_of_step(const norm_task &t, int channel,
                                                        double *elements) {
    tree<two_sums> along;
    along.leaves = 0;
    *elements = 0;
    for (int v = 0; has_shard(t, v); v++) {
        *elements += t.all_count[v] * positions(t.size);
        tree_push(&along, row_of(t.all, v, t.size.channels, channel));
    }
    return tree_total(&along);
}

static __global__ void norm_forward(cut c, norm_task t) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * NORM_THREADS + threadIdx.x), shard = shard_of_block(c);
    if (channel >= t.size.channels) return;
    const double own_count = c.count[shard] * positions(t.size);
    if (own_count > 0)
        set_forward(t, shard, channel, moments_of_step(t, channel), own_count);
    else
        no_statistics(t, shard, channel);
}

static __global__ void norm_backward(cut c, norm_task t) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * NORM_THREADS + threadIdx.x), shard = shard_of_block(c);
    if (channel >= t.size.channels || c.count[shard] == 0) return;
    double count;
    const two_sums sum = sums_of_step(t, channel, &count);
    const size_t at = (size_t)shard * t.stride + (size_t)channel;
    const norm_factors f =
        norm_factors_of(t.weight[channel], t.mean_rest[at], t.inv_std[at], sum, count);
    t.from_dy[at] = f.dy;
    t.from_z[at] = f.z;
    t.from_one[at] = f.one;
}

static dim3 grid_of(const cut *c, const norm_task *t) {
    return dim3(blocks_for((size_t)t->size.channels, NORM_THREADS), 1,
                (unsigned)(c->end - c->first));
}

void cuda_norm_forward(launch_stream s, const cut *c, const norm_task *t) {
    const dim3 grid = grid_of(c, t);
    if (grid.z == 0) return;
    LAUNCH(norm_forward, grid, NORM_THREADS, s, *c, *t);
}

void cuda_norm_backward(launch_stream s, const cut *c, const norm_task *t) {
    const dim3 grid = grid_of(c, t);
    if (grid.z == 0) return;
    LAUNCH(norm_backward, grid, NORM_THREADS, s, *c, *t);
}

// ---- Inference ----

static __global__ void norm_inference(int channels, double eps, const float *weight,
                                      const float *bias, const float *mean, const float *variance,
                                      float *scale, float *shift) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * NORM_THREADS + threadIdx.x);
    if (channel >= channels) return;
    const float inv_std = (float)(1.0 / sqrt((double)variance[channel] + eps));
    const float factor = weight[channel] * inv_std;
    scale[channel] = factor;
    shift[channel] = fmaf(-mean[channel], factor, bias[channel]);
}

void cuda_norm_inference(launch_stream s, int channels, double eps, const float *weight,
                         const float *bias, const float *mean, const float *variance, float *scale,
                         float *shift) {
    LAUNCH(norm_inference, blocks_for((size_t)channels, NORM_THREADS), NORM_THREADS, s, channels,
           eps, weight, bias, mean, variance, scale, shift);
}
