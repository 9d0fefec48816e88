// SPDX-License-Identifier: MIT
// Batch norm's statistics and the sums of its gradients, in the order of the CPU's engine: of a
// group as in cpu/kernels/tail.c, and over the groups of a shard as in cpu/batch_norm.c. What
// follows from a shard's sums is in norm.cuh, and over the shards norm.cu has that order already.
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/cuda/kernels/norm.cuh"
#include "compute/cuda/kernels/tail.cuh"

// ---- Statistics of a group ----

// The sum of z - centre of a channel, and of its square; of all samples of the group.
static __device__ __forceinline__ two_floats centred_sums(const cut &c, shape size,
                                                          const plane_place &p, const float *z,
                                                          float centre) {
    const size_t lanes = (size_t)c.lanes, row = (size_t)size.width * lanes;
    const two_floats total = sum_of_rows(size.height, p.live, [&](int y) {
        const float *from = z + (size_t)y * row;
        return sum_of_row(size.width, [&](int x, two_floats &sum) {
            const float d = from[(size_t)x * lanes] - centre;
            sum.a += d;
            sum.b = fmaf(d, d, sum.b);
        });
    });
    const int width = cpu_lanes(c.lanes);
    return two_floats{sum_by_halves(total.a, width), sum_by_halves(total.b, width)};
}

// The corrected two-pass algorithm of cpu/kernels/tail.c. The first pass takes the differences from
// 0, which are the values themselves.
static __global__ void __launch_bounds__(PLANE_THREADS) group_moments(cut c, norm_task t) {
    wait_for_kernels_before();
    __shared__ float centres[PLANE_THREADS / GROUP_LANES];
    const plane_place p = place_in_plane(c, t.size.channels);
    if (p.samples <= 0) return;
    const size_t plane = (size_t)t.size.height * (size_t)t.size.width * (size_t)c.lanes;
    const size_t number = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    const float *z = t.z + number * plane + p.sample;
    const double n = p.samples * positions(t.size);
    const bool leads = threadIdx.x == 0 && threadIdx.y == 0;
    const two_floats first = centred_sums(c, t.size, p, z, 0.0f);
    if (leads) centres[threadIdx.z] = (float)((double)first.a / n);
    __syncthreads();
    const float centre = centres[threadIdx.z];
    const two_floats sum = centred_sums(c, t.size, p, z, centre);
    if (!leads || p.channel >= t.size.channels) return;
    const double rest = (double)sum.a / n, m2 = (double)sum.b - (double)sum.a * rest;
    numbers_of(t.parts, c, t.size.channels, p.shard, p.group)[p.channel] =
        two_sums{(double)centre + rest, m2 < 0 ? 0 : m2}; // a NaN stays one
}

// ---- Sums of the gradients of a group ----

// dt and z of an element of y: cpu/kernels/tail.c
struct reached_element {
    float dt, z;
};

static __device__ __forceinline__ reached_element element_of_y(const tail_task &t, affine a,
                                                               const float *z, float dy,
                                                               uint8_t winner, int lanes) {
    if (!t.pool) return {passes(t, normalise(t, a, *z)) ? dy : 0.0f, *z};
    const int which = winner == CUT_OFF ? 0 : winner;
    return {winner == CUT_OFF ? 0.0f : dy, z[window_step(t.size, which, lanes)]};
}

// The sums of dt and of dt · (z - mean) in row y, one element after another.
static __device__ __forceinline__ two_floats gradient_row(const cut &c, const tail_task &t,
                                                          const plane_place &p, int y) {
    const int step = t.pool ? 2 : 1, width = t.size.width / step, height = t.size.height / step;
    const size_t lanes = (size_t)c.lanes;
    const size_t plane = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    const size_t to = (plane * (size_t)height + (size_t)y) * (size_t)width * lanes;
    const size_t from =
        (plane * (size_t)t.size.height + (size_t)(step * y)) * (size_t)t.size.width * lanes;
    const affine a = affine_of(t, p.shard, (unsigned)p.channel);
    two_floats sum = {0, 0};
    for (int x = 0; x < width; x++) {
        const size_t own = to + (size_t)x * lanes + (size_t)p.sample;
        const float *z = t.z + from + (size_t)(step * x) * lanes + p.sample;
        const reached_element e =
            element_of_y(t, a, z, t.dy[own], t.pool ? t.winner[own] : 0, c.lanes);
        sum.a += e.dt;
        sum.b = fmaf(e.dt, e.z - a.mean, sum.b);
    }
    return sum;
}

static __global__ void __launch_bounds__(PLANE_THREADS) group_gradient(cut c, tail_task t) {
    wait_for_kernels_before();
    const plane_place p = place_in_plane(c, t.size.channels);
    if (p.samples <= 0) return;
    const two_floats total = sum_of_rows(t.pool ? t.size.height / 2 : t.size.height, p.live,
                                         [&](int y) { return gradient_row(c, t, p, y); });
    const int width = cpu_lanes(c.lanes);
    const float dt = sum_by_halves(total.a, width), centred = sum_by_halves(total.b, width);
    if (threadIdx.x > 0 || threadIdx.y > 0 || p.channel >= t.size.channels) return;
    const size_t at = (size_t)p.shard * t.norm_stride + (size_t)p.channel;
    const float of_xhat = (centred - t.mean_rest[at] * dt) * t.inv_std[at];
    numbers_of(t.parts, c, t.size.channels, p.shard, p.group)[p.channel] =
        two_sums{(double)dt, (double)of_xhat};
}

// ---- Over the groups of a shard ----

static __global__ void __launch_bounds__(CHANNEL_THREADS) shard_moments(cut c, norm_task t) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * CHANNEL_THREADS + threadIdx.x);
    const int shard = shard_of_block(c), samples = c.count[shard];
    if (channel >= t.size.channels) return;
    tree<moments> along;
    along.leaves = 0;
    for (unsigned g = 0; g < groups_of(samples); g++) {
        const two_sums of = numbers_of(t.parts, c, t.size.channels, shard, g)[channel];
        tree_push(&along, moments{samples_of_group(samples, g) * positions(t.size), of.a, of.b});
    }
    set_moments(t, shard, channel, samples > 0 ? tree_total(&along) : moments{0, 0, 0});
}

// The gradients of weight and bias are sums of floats, like all gradients; the factors come from
// the same sums in double.
static __global__ void __launch_bounds__(CHANNEL_THREADS) shard_gradient(cut c, tail_task t) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * CHANNEL_THREADS + threadIdx.x);
    const int shard = shard_of_block(c), samples = c.count[shard];
    if (channel >= t.size.channels) return;
    tree<two_sums> along;
    tree<float> dt, of_xhat;
    along.leaves = dt.leaves = of_xhat.leaves = 0;
    for (unsigned g = 0; g < groups_of(samples); g++) {
        const two_sums of = numbers_of(t.parts, c, t.size.channels, shard, g)[channel];
        tree_push(&along, of);
        tree_push(&dt, (float)of.a);
        tree_push(&of_xhat, (float)of.b);
    }
    if (samples == 0) {
        set_factors(t, shard, channel, two_sums{0, 0}, 0);
        return;
    }
    float *record = t.records.base + (size_t)shard * t.records.stride + channel;
    record[t.bias_at] = tree_total(&dt);
    record[t.weight_at] = tree_total(&of_xhat);
    set_factors(t, shard, channel, tree_total(&along), samples);
}

// ---- Launching ----

parts_room cuda_exact_moments_room(shape size, int lanes, int shards) {
    return numbers_room(size.channels, lanes, shards);
}

void cuda_exact_moments(launch_stream s, const cut *c, const norm_task *t) {
    const dim3 block = plane_block(t->size.height);
    if (c->first >= c->end) return;
    LAUNCH(group_moments, plane_grid(c, t->size.channels, block), block, s, *c, *t);
    LAUNCH(shard_moments, channel_grid(c, t->size.channels), CHANNEL_THREADS, s, *c, *t);
}

parts_room cuda_exact_tail_sums_room(const tail_task *t, int lanes, int shards) {
    return numbers_room(t->size.channels, lanes, shards);
}

void cuda_exact_tail_sums(launch_stream s, const cut *c, const tail_task *t) {
    const dim3 block = plane_block(t->pool ? t->size.height / 2 : t->size.height);
    if (c->first >= c->end) return;
    LAUNCH(group_gradient, plane_grid(c, t->size.channels, block), block, s, *c, *t);
    LAUNCH(shard_gradient, channel_grid(c, t->size.channels), CHANNEL_THREADS, s, *c, *t);
}
