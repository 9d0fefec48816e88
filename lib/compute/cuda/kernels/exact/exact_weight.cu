// SPDX-License-Identifier: MIT
// Weight and bias gradients of convolutions, in the order of the CPU's engine: one sum per sample
// over the positions of the output, then over the samples of a group by halves, then over the
// groups along the tree.
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/long_sums.h"

enum {
    WEIGHT_THREADS = 128,
    TEAMS = WEIGHT_THREADS / GROUP_LANES,
    SCHEDULERS = 4 * PROCESSORS,
    LATENCY = 400 // of a load from the second-level cache, in cycles
};

// The positions whose loads a thread with TILE × TILE weights has under way.
static __host__ __device__ constexpr int positions_ahead(int tile) {
    return 16 / tile;
}

typedef struct exact_weights {
    shape in, out;
    int lanes;
    int channel_parts; // conv_task
    int first;         // of these, over all shards
    int kernel_h, kernel_w, stride_y, stride_x, pad_y, pad_x;
    int columns; // weights of an output channel
    const int *count;
    const float *x, *dz;
    float *sums; // [channel part][group][weights]
} exact_weights;

// The positions in a row that a thread sums: every `step`-th from the first on.
//
// The CPU's kernels for 4 samples take four neighbouring positions of them for a vector. So a
// thread has a quarter of the positions, and the halves also add these; but not with a stride, when
// neighbours in the output are none in the input.
struct share {
    int sample; // of the shard
    int first, step;
};

static __device__ __forceinline__ share share_of(const exact_weights &t, unsigned group) {
    const int lane = (int)threadIdx.x % GROUP_LANES;
    if (t.lanes > 4) return {(int)(group * GROUP_LANES) + lane, 0, 1};
    if (t.stride_x == 1) return {lane % 4, lane / 4, 4};
    return {lane % 4, lane < 4 ? 0 : t.out.width, 1};
}

// An element of the kernel in a channel of the input.
struct tap {
    const float *x; // the channel
    int y, x_at;    // relative to the output pixel's position in the input
};

static __device__ __forceinline__ tap tap_of(const exact_weights &t, const float *x, int column) {
    const int kernel = t.kernel_h * t.kernel_w, channel = column / kernel;
    const int at = column % kernel;
    const ptrdiff_t plane = (ptrdiff_t)t.in.height * t.in.width * t.lanes;
    return {x + channel * plane, at / t.kernel_w - t.pad_y, at % t.kernel_w - t.pad_x};
}

// TILE × TILE weights of one thread: output channels and columns.
template <int TILE> struct weight_tile {
    const float *dz[TILE];
    tap taps[TILE];
    float sum[TILE * TILE];
};

template <int TILE>
static __device__ __forceinline__ void place_tile(const exact_weights &t, size_t shard, int sample,
                                                  int row, int column, weight_tile<TILE> &w) {
    const size_t pixels = (size_t)t.out.height * (size_t)t.out.width * (size_t)t.lanes;
    const size_t in = (size_t)t.in.height * (size_t)t.in.width * (size_t)t.lanes;
    const float *x = t.x + shard * (size_t)t.in.channels * in + sample;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        // Past the last one, the last again: its sum is not written.
        const int o = row + i < t.out.channels ? row + i : t.out.channels - 1;
        const int n = column + i < t.columns ? column + i : t.columns - 1;
        w.dz[i] = t.dz + (shard * (size_t)t.out.channels + (size_t)o) * pixels + sample;
        w.taps[i] = tap_of(t, x, n);
    }
#pragma unroll
    for (int i = 0; i < TILE * TILE; i++) w.sum[i] = 0.0f;
}

// Each addition waits for the one before it, but the loads of several positions need not: they are
// under way together.
template <int TILE>
static __device__ __forceinline__ void sum_row(const exact_weights &t, const share &own, int y,
                                               const weight_tile<TILE> &w,
                                               float (&sum)[TILE * TILE]) {
    constexpr int AHEAD = positions_ahead(TILE);
    const float *dz[TILE], *in[TILE];
    int width[TILE]; // of the input's row; 0 above and below the input
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        const int iy = y * t.stride_y + w.taps[i].y;
        dz[i] = w.dz[i] + (ptrdiff_t)(y * t.out.width) * t.lanes;
        in[i] = w.taps[i].x + (ptrdiff_t)(iy * t.in.width + w.taps[i].x_at) * t.lanes;
        width[i] = (unsigned)iy < (unsigned)t.in.height ? t.in.width : 0;
    }
    for (int first = own.first; first < t.out.width; first += AHEAD * own.step) {
        float d[AHEAD][TILE], v[AHEAD][TILE];
#pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            const int x = first + n * own.step, ix = x * t.stride_x;
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                const bool inside = (unsigned)(ix + w.taps[i].x_at) < (unsigned)width[i];
                d[n][i] = x < t.out.width ? dz[i][x * t.lanes] : 0.0f;
                v[n][i] = x < t.out.width && inside ? in[i][ix * t.lanes] : 0.0f;
            }
        }
#pragma unroll
        for (int n = 0; n < AHEAD; n++) {
#pragma unroll
            for (int i = 0; i < TILE * TILE; i++)
                sum[i] = fmaf(d[n][i / TILE], v[n][i % TILE], sum[i]);
        }
    }
}

// A long sum is cut into parts of some rows, which are added in order.
template <int TILE>
static __device__ __forceinline__ void sum_positions(const exact_weights &t, const share &own,
                                                     weight_tile<TILE> &w) {
    const int part = long_sum_rows(t.out.height, t.out.width);
    for (int first = 0; first < t.out.height; first += part) {
        const int end = first + part < t.out.height ? first + part : t.out.height;
        float sum[TILE * TILE] = {};
        for (int y = first; y < end; y++) sum_row(t, own, y, w, sum);
#pragma unroll
        for (int i = 0; i < TILE * TILE; i++) w.sum[i] = first == 0 ? sum[i] : w.sum[i] + sum[i];
    }
}

// Adds N sums of the 16 threads of a team by halves. Of two threads each passes on the sums that
// the other keeps. The result of number `return value` is in sum[0], in 16 / N threads. All threads
// of a warp must call it.
//
// The CPU's kernels for 8 samples begin with 4 + 4: here the zeros of eight missing samples come
// first.
template <int N> static __device__ __forceinline__ int add_lanes(float (&sum)[N]) {
    static_assert(N <= GROUP_LANES, "a result for each thread");
    int first = 0, kept = N;
#pragma unroll
    for (int distance = GROUP_LANES / 2; distance > 0; distance /= 2) {
        const bool upper = threadIdx.x & (unsigned)distance;
        if (kept == 1) {
            sum[0] += __shfl_xor_sync(ALL_LANES, sum[0], distance);
            continue;
        }
        kept /= 2;
        first += upper ? kept : 0;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= kept) break;
            const float passed = upper ? sum[i] : sum[i + kept];
            sum[i] =
                (upper ? sum[i + kept] : sum[i]) + __shfl_xor_sync(ALL_LANES, passed, distance);
        }
    }
    return first;
}

// All threads of a warp must call it.
template <int TILE>
static __device__ __forceinline__ void write_tile(const exact_weights &t, weight_tile<TILE> &w,
                                                  int row, int column, float *to) {
    const int own = add_lanes(w.sum);
    row += own / TILE;
    column += own % TILE;
    if (threadIdx.x % (GROUP_LANES / (TILE * TILE)) == 0 && row < t.out.channels &&
        column < t.columns)
        to[(size_t)row * (size_t)t.columns + (size_t)column] = w.sum[0];
}

// 16 neighbouring threads, a team, sum a tile of weights over one group of samples. blockIdx:
// tiles, the group, the shard.
template <int TILE>
static __global__ void __launch_bounds__(WEIGHT_THREADS) sum_weights(exact_weights t) {
    const size_t shard = (size_t)t.first + blockIdx.z; // or a part of its channels
    const int *count = t.count + shard / (size_t)t.channel_parts;
    const unsigned team = blockIdx.x * TEAMS + threadIdx.x / GROUP_LANES;
    const unsigned across = blocks_for((size_t)t.columns, TILE);
    const int row = (int)(team / across) * TILE, column = (int)(team % across) * TILE;
    const share own = share_of(t, blockIdx.y);
    wait_for_kernels_before();
    const int samples = *count;
    if (samples_of_group(samples, blockIdx.y) <= 0) return;
    weight_tile<TILE> w;
    place_tile(t, shard, own.sample < samples ? own.sample : 0, row, column, w);
    if (own.sample < samples && row < t.out.channels) sum_positions(t, own, w);
    const size_t weights = (size_t)t.out.channels * (size_t)t.columns;
    write_tile(t, w, row, column, t.sums + (shard * groups_of(t.lanes) + blockIdx.y) * weights);
}

// ---- Biases ----

// A block takes some channels of a group: see plane_block.
static __global__ void __launch_bounds__(PLANE_THREADS)
    sum_biases(cut c, shape size, const float *dz, float *sums) {
    wait_for_kernels_before();
    const plane_place p = place_in_plane(c, size.channels);
    if (p.samples <= 0) return;
    const size_t row = (size_t)size.width * (size_t)c.lanes;
    const size_t plane = (size_t)p.shard * (size_t)size.channels + (size_t)p.channel;
    const float *from = dz + plane * (size_t)size.height * row + p.sample;
    const two_floats total = sum_of_rows(size.height, p.live, [&](int y) {
        return sum_of_row(size.width, [&](int x, two_floats &sum) {
            sum.a += from[(size_t)y * row + (size_t)x * (size_t)c.lanes];
        });
    });
    const float sum = sum_by_halves(total.a, cpu_lanes(c.lanes));
    if (threadIdx.x > 0 || threadIdx.y > 0 || p.channel >= size.channels) return;
    const size_t group = (size_t)p.shard * groups_of(c.lanes) + p.group;
    sums[group * (size_t)size.channels + (size_t)p.channel] = sum;
}

// ---- Over the groups ----

// records[shard][at + part · n + i] = the sum of sums[shard][part][group][i]
static __global__ void __launch_bounds__(WEIGHT_THREADS)
    sum_groups(cut c, int parts, size_t n, const float *sums, record_set records, size_t at) {
    const size_t i = (size_t)blockIdx.x * WEIGHT_THREADS + threadIdx.x;
    const size_t number = (size_t)c.first * (size_t)parts + blockIdx.z;
    const size_t shard = number / (size_t)parts, part = number % (size_t)parts;
    const float *from = sums + number * groups_of(c.lanes) * n + i;
    wait_for_kernels_before();
    const unsigned groups = groups_of(c.count[shard]);
    if (i >= n || groups == 0) return;
    records.base[shard * records.stride + at + part * n + i] =
        tree_sum<float>(groups, [&](unsigned g) { return from[g * n]; });
}

// ---- Launching ----

static size_t weights_of(const conv_task *t) {
    return (size_t)t->out.channels * (size_t)(t->in.channels * t->kernel_h * t->kernel_w);
}

static size_t sums_of(const conv_task *t, int lanes, int shards) {
    const size_t groups = (size_t)(shards * t->channel_parts) * groups_of(lanes);
    const size_t floats = groups * ((t->linear ? 0 : weights_of(t)) + (size_t)t->out.channels);
    return (floats + 3) / 4 * 4; // for float4 after them
}

size_t cuda_exact_workspace(const conv_task *t, int lanes, int shards) {
    const size_t sums = sums_of(t, lanes, shards);
    return sums + (t->winograd ? cuda_exact_winograd_workspace(t, lanes, shards) : 0);
}

static exact_weights weights_task(const cut *c, const conv_task *t) {
    exact_weights w = {};
    w.in = t->in;
    w.out = t->out;
    w.lanes = c->lanes;
    w.channel_parts = t->channel_parts;
    w.first = c->first * t->channel_parts;
    w.kernel_h = t->kernel_h;
    w.kernel_w = t->kernel_w;
    w.stride_y = t->stride_y;
    w.stride_x = t->stride_x;
    w.pad_y = t->pad_y;
    w.pad_x = t->pad_x;
    w.columns = t->in.channels * t->kernel_h * t->kernel_w;
    w.count = c->count;
    w.x = t->x;
    w.dz = t->z;
    w.sums = t->workspace;
    return w;
}

static size_t teams_of(const conv_task *t, size_t tile) {
    const size_t columns = weights_of(t) / (size_t)t->out.channels;
    return blocks_for((size_t)t->out.channels, (unsigned)tile) *
           (size_t)blocks_for(columns, (unsigned)tile);
}

template <int TILE> static void launch(launch_stream s, const cut *c, const conv_task *t) {
    const dim3 grid(blocks_for(teams_of(t, TILE), TEAMS), groups_of(c->lanes),
                    (unsigned)((c->end - c->first) * t->channel_parts));
    LAUNCH(sum_weights<TILE>, grid, WEIGHT_THREADS, s, weights_task(c, t));
}

static void add_groups(launch_stream s, const cut *c, const conv_task *t, int parts, size_t n,
                       size_t at) {
    const dim3 grid(blocks_for(n, WEIGHT_THREADS), 1, (unsigned)((c->end - c->first) * parts));
    LAUNCH(sum_groups, grid, WEIGHT_THREADS, s, *c, parts, n, t->workspace, t->records, at);
}

// What a position costs a tile, in cycles: the instructions of all warps that share a scheduler, or
// the latency of loads, whichever is more.
static size_t position_cost(const conv_task *t, size_t groups, int tile) {
    const size_t issue = (size_t)(4 * tile + tile * tile);
    const size_t warps = teams_of(t, (size_t)tile) * groups * GROUP_LANES / WARP;
    const size_t busy = (warps + SCHEDULERS - 1) / SCHEDULERS * issue;
    const size_t waiting = issue + (size_t)(LATENCY / positions_ahead(tile));
    return busy > waiting ? busy : waiting;
}

static void launch_direct(launch_stream s, const cut *c, const conv_task *t) {
    const size_t groups =
        (size_t)groups_of(c->lanes) * (size_t)((c->end - c->first) * t->channel_parts);
    const size_t one = position_cost(t, groups, 1), two = position_cost(t, groups, 2),
                 four = position_cost(t, groups, 4);
    if (four <= two && four <= one)
        launch<4>(s, c, t);
    else if (two <= one)
        launch<2>(s, c, t);
    else
        launch<1>(s, c, t);
}

static void launch_weights(launch_stream s, const cut *c, const conv_task *t) {
    if (t->winograd)
        cuda_exact_winograd_weight(s, c, t, t->workspace,
                                   t->workspace + sums_of(t, c->lanes, c->end));
    else
        launch_direct(s, c, t);
    add_groups(s, c, t, t->channel_parts, weights_of(t), t->weight_at);
}

void cuda_exact_weight(launch_stream s, const cut *c, const conv_task *t) {
    const size_t shards = (size_t)(c->end - c->first);
    if (shards == 0) return;
    if (t->linear)
        cuda_exact_linear_weight(s, c, t);
    else
        launch_weights(s, c, t);
    if (!t->bias) return;
    shape out = t->out;
    out.channels *= t->channel_parts;
    const dim3 block = plane_block(out.height);
    LAUNCH(sum_biases, plane_grid(c, out.channels, block), block, s, *c, out, t->z, t->workspace);
    add_groups(s, c, t, 1, (size_t)out.channels, t->bias_at);
}
