// SPDX-License-Identifier: MIT
// Weight and bias gradients of convolutions, in the order of the CPU's engine: one sum per sample
// over the positions of the output, then over the samples of a group by halves, then over the
// groups along the tree.
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/layer_sums.h"

enum {
    WEIGHT_THREADS = 128,
    TEAMS = WEIGHT_THREADS / GROUP,
    SCHEDULERS = 4 * PROCESSORS,
    LATENCY = 400, // of a load from the second-level cache, in cycles
    LOAD_COST = 8  // instructions: the load and its index
};

// The weights of a thread: Outputs channels × Inputs kernel rows × Taps elements of each. At each
// position it loads an element of dz for each output, and Stride elements of x for each kernel row:
// the taps share them. Stride 0: any, with one tap. The loads of Ahead positions are under way
// together.
template <int Outputs, int Inputs, int Taps, int Stride, int Ahead> struct tile_shape {
    static constexpr int OUTPUTS = Outputs, INPUTS = Inputs, TAPS = Taps, AHEAD = Ahead;
    static constexpr int NEW = Stride > 1 ? Stride : 1; // elements of x for a position
    static constexpr int WEIGHTS = Outputs * Inputs * Taps;
    static constexpr int LOADS = Outputs + Inputs * NEW;
    static constexpr int ELEMENTS = (Ahead - 1) * NEW + Taps; // of x for these
};

typedef struct exact_weights {
    shape in, out;
    int lanes;
    int channel_parts; // cuda_conv_task
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

template <typename S>
static __device__ __forceinline__ share share_of(const exact_weights &t, unsigned group) {
    const int lane = (int)threadIdx.x % GROUP;
    if (S::TAPS > 1 || t.lanes > 4) return {(int)(group * GROUP) + lane, 0, 1};
    if (t.stride_x == 1) return {lane % 4, lane / 4, 4};
    return {lane % 4, lane < 4 ? 0 : t.out.width, 1};
}

// A thread's place: its first weights, and where their factors are.
template <typename S> struct weight_tile {
    int row, kernel_row; // the first of each; a kernel row is one of (channel, y)
    int tap;             // 0, if it has them all
    const float *dz[S::OUTPUTS];
    const float *x[S::INPUTS]; // the channel
    int y[S::INPUTS];          // of the kernel row, relative to the output's position in the input
    float sum[S::WEIGHTS];
};

// Past the last row, the last again: its sum is not written.
template <typename S>
static __device__ __forceinline__ void place_tile(const exact_weights &t, size_t shard, int sample,
                                                  weight_tile<S> &w) {
    const size_t pixels = (size_t)t.out.height * (size_t)t.out.width * (size_t)t.lanes;
    const size_t in = (size_t)t.in.height * (size_t)t.in.width * (size_t)t.lanes;
#pragma unroll
    for (int i = 0; i < S::OUTPUTS; i++) {
        const int o = clamped(w.row + i, t.out.channels);
        w.dz[i] = t.dz + (shard * (size_t)t.out.channels + (size_t)o) * pixels + sample;
    }
#pragma unroll
    for (int i = 0; i < S::INPUTS; i++) {
        const int n = clamped(w.kernel_row + i, t.in.channels * t.kernel_h);
        const size_t channel = shard * (size_t)t.in.channels + (size_t)(n / t.kernel_h);
        w.x[i] = t.x + channel * in + sample;
        w.y[i] = n % t.kernel_h - t.pad_y;
    }
}

template <typename S> static __device__ __forceinline__ void clear_sums(weight_tile<S> &w) {
#pragma unroll
    for (int i = 0; i < S::WEIGHTS; i++) w.sum[i] = 0.0f;
}

// Some positions of a row: the factors of their terms.
template <typename S> struct row_piece {
    int y, first;
    float d[S::AHEAD][S::OUTPUTS], v[S::ELEMENTS][S::INPUTS];
};

// Returns the column of the input for the piece's element number i.
template <typename S>
static __device__ __forceinline__ int input_column(const exact_weights &t, const share &own,
                                                   const weight_tile<S> &w, const row_piece<S> &p,
                                                   int i) {
    const int first = p.first * t.stride_x - t.pad_x;
    return S::TAPS > 1 ? first + i : first + w.tap + i * own.step * t.stride_x;
}

// Positions outside load the nearest one inside, for nothing: the compiler would put a load with a
// condition right before its addition.
template <typename S>
static __device__ __forceinline__ void load_piece(const exact_weights &t, const share &own,
                                                  const weight_tile<S> &w, row_piece<S> &p) {
    const int y = clamped(p.y, t.out.height);
    const ptrdiff_t row = (ptrdiff_t)(y * t.out.width) * t.lanes;
#pragma unroll
    for (int n = 0; n < S::AHEAD; n++) {
        const unsigned at = (unsigned)(clamped(p.first + n * own.step, t.out.width) * t.lanes);
#pragma unroll
        for (int i = 0; i < S::OUTPUTS; i++) p.d[n][i] = w.dz[i][row + at];
    }
#pragma unroll
    for (int k = 0; k < S::INPUTS; k++) {
        const int iy = clamped(y * t.stride_y + w.y[k], t.in.height);
        const float *from = w.x[k] + (ptrdiff_t)(iy * t.in.width) * t.lanes;
#pragma unroll
        for (int i = 0; i < S::ELEMENTS; i++) {
            const int x = clamped(input_column(t, own, w, p, i), t.in.width);
            p.v[i][k] = from[(unsigned)(x * t.lanes)];
        }
    }
}

template <typename S>
static __device__ __forceinline__ void add_piece(const exact_weights &t, const share &own,
                                                 const weight_tile<S> &w, row_piece<S> &p,
                                                 float (&sum)[S::WEIGHTS]) {
#pragma unroll
    for (int k = 0; k < S::INPUTS; k++) {
        const int iy = p.y * t.stride_y + w.y[k];
        const int width = (unsigned)iy < (unsigned)t.in.height ? t.in.width : 0;
#pragma unroll
        for (int i = 0; i < S::ELEMENTS; i++)
            if ((unsigned)input_column(t, own, w, p, i) >= (unsigned)width) p.v[i][k] = 0.0f;
    }
#pragma unroll
    for (int n = 0; n < S::AHEAD; n++) {
        const bool exists = p.first + n * own.step < t.out.width;
#pragma unroll
        for (int i = 0; i < S::WEIGHTS; i++) {
            const int tap = i % S::TAPS, k = i / S::TAPS % S::INPUTS;
            const float d = p.d[n][i / (S::TAPS * S::INPUTS)], v = p.v[n * S::NEW + tap][k];
            sum[i] = exists ? fmaf(d, v, sum[i]) : sum[i];
        }
    }
}

// Each addition waits for the one before it, but loads need not: those of the next piece are under
// way while a piece is added.
template <typename S>
static __device__ __forceinline__ void sum_rows(const exact_weights &t, const share &own, int y,
                                                int end, const weight_tile<S> &w,
                                                float (&sum)[S::WEIGHTS]) {
    row_piece<S> now, next;
    now.y = y;
    now.first = own.first;
    load_piece(t, own, w, now);
    while (now.y < end) {
        next.y = now.y;
        next.first = now.first + S::AHEAD * own.step;
        if (next.first >= t.out.width) {
            next.y++;
            next.first = own.first;
        }
        load_piece(t, own, w, next);
        add_piece(t, own, w, now, sum);
        now = next;
    }
}

// A long sum is cut into parts of some rows, which are added in order.
template <typename S>
static __device__ __forceinline__ void sum_positions(const exact_weights &t, const share &own,
                                                     weight_tile<S> &w) {
    const int part = long_sum_rows(t.out.height, t.out.width);
    clear_sums(w);
    for (int first = 0; first < t.out.height; first += part) {
        const int end = first + part < t.out.height ? first + part : t.out.height;
        float sum[S::WEIGHTS] = {};
        sum_rows(t, own, first, end, w, sum);
#pragma unroll
        for (int i = 0; i < S::WEIGHTS; i++) w.sum[i] = first == 0 ? sum[i] : w.sum[i] + sum[i];
    }
}

// Adds the sums of the 16 threads of a team by halves, all N of them, a power of two: of two
// threads each passes on the sums that the other keeps. The thread keeps sums[0], and so on, up to
// N / 16 of them, or one; returns the number of the first. All threads of a warp must call it.
//
// The CPU's kernels for 8 samples begin with 4 + 4: here the zeros of eight missing samples come
// first.
template <int N> static __device__ __forceinline__ int add_lanes(float (&sums)[N]) {
    int first = 0, kept = N;
#pragma unroll
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        const bool upper = threadIdx.x & (unsigned)distance;
        if (kept == 1) {
            sums[0] += __shfl_xor_sync(ALL_LANES, sums[0], distance);
            continue;
        }
        kept /= 2;
        first += upper ? kept : 0;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= kept) break;
            const float passed = upper ? sums[i] : sums[i + kept];
            sums[i] =
                (upper ? sums[i + kept] : sums[i]) + __shfl_xor_sync(ALL_LANES, passed, distance);
        }
    }
    return first;
}

static __host__ __device__ constexpr int power_of_two_from(int n) {
    return n <= 1 ? 1 : 2 * power_of_two_from((n + 1) / 2);
}

// All threads of a warp must call it.
template <typename S>
static __device__ __forceinline__ void write_tile(const exact_weights &t, const weight_tile<S> &w,
                                                  float *to) {
    constexpr int N = power_of_two_from(S::WEIGHTS), KEPT = N > GROUP ? N / GROUP : 1;
    constexpr int SAME = N < GROUP ? GROUP / N : 1; // threads with the same sum
    float sums[N] = {};
#pragma unroll
    for (int i = 0; i < S::WEIGHTS; i++) sums[i] = w.sum[i];
    const int first = add_lanes(sums);
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const int own = first + i, tap = w.tap + own % S::TAPS;
        const int kernel_row = w.kernel_row + own / S::TAPS % S::INPUTS;
        const int row = w.row + own / (S::TAPS * S::INPUTS);
        if (threadIdx.x % SAME == 0 && own < S::WEIGHTS && row < t.out.channels &&
            kernel_row < t.in.channels * t.kernel_h && tap < t.kernel_w)
            to[(size_t)row * (size_t)t.columns + (size_t)(kernel_row * t.kernel_w + tap)] = sums[i];
    }
}

// A tile has all taps of its kernel rows, or one.
template <typename S>
static __host__ __device__ __forceinline__ unsigned taps_across(int kernel_w) {
    return S::TAPS > 1 ? 1 : (unsigned)kernel_w;
}
template <typename S>
static __host__ __device__ __forceinline__ unsigned rows_across(shape in, int kernel_h) {
    return blocks_for((size_t)in.channels * (size_t)kernel_h, S::INPUTS);
}

// 16 neighbouring threads, a team, sum a tile of weights over one group of samples. blockIdx:
// tiles, the group, the shard.
template <typename S>
static __global__ void __launch_bounds__(WEIGHT_THREADS) sum_weights(exact_weights t) {
    const size_t shard = (size_t)t.first + blockIdx.z; // or a part of its channels
    const int *count = t.count + shard / (size_t)t.channel_parts;
    const unsigned team = blockIdx.x * TEAMS + threadIdx.x / GROUP;
    const unsigned taps = taps_across<S>(t.kernel_w), rows = rows_across<S>(t.in, t.kernel_h);
    const share own = share_of<S>(t, blockIdx.y);
    weight_tile<S> w;
    w.tap = S::TAPS > 1 ? 0 : (int)(team % taps);
    w.kernel_row = (int)(team / taps % rows) * S::INPUTS;
    w.row = (int)(team / taps / rows) * S::OUTPUTS;
    wait_for_kernels_before();
    const int samples = *count;
    if (samples_of_group(samples, blockIdx.y) <= 0) return;
    place_tile(t, shard, own.sample < samples ? own.sample : 0, w);
    if (own.sample < samples && w.row < t.out.channels)
        sum_positions(t, own, w);
    else
        clear_sums(w);
    const size_t weights = (size_t)t.out.channels * (size_t)t.columns;
    write_tile(t, w, t.sums + (shard * groups_of(t.lanes) + blockIdx.y) * weights);
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
        const float *in = from + (size_t)y * row;
        return sum_of_row(
            size.width, [&](int x) { return in[(size_t)x * (size_t)c.lanes]; },
            [](float v, bool exists, two_floats &sum) { sum.a += exists ? v : 0.0f; });
    });
    const float sum = sum_by_halves(total.a, cpu_lanes(c.lanes));
    if (threadIdx.x > 0 || threadIdx.y > 0 || p.channel >= size.channels) return;
    const size_t group = (size_t)p.shard * groups_of(c.lanes) + p.group;
    sums[group * (size_t)size.channels + (size_t)p.channel] = sum;
}

// ---- Over the groups ----

// gradients[shard][at + part · n + i] = the sum of sums[shard][part][group][i]
static __global__ void __launch_bounds__(WEIGHT_THREADS)
    sum_groups(cut c, int parts, size_t n, const float *sums, gradient_set gradients, size_t at) {
    const size_t i = (size_t)blockIdx.x * WEIGHT_THREADS + threadIdx.x;
    const size_t number = (size_t)c.first * (size_t)parts + blockIdx.z;
    const size_t shard = number / (size_t)parts, part = number % (size_t)parts;
    const float *from = sums + number * groups_of(c.lanes) * n + i;
    wait_for_kernels_before();
    const unsigned groups = groups_of(c.count[shard]);
    if (i >= n || groups == 0) return;
    gradients.base[shard * gradients.stride + at + part * n + i] =
        tree_sum<float>(groups, [&](unsigned g) { return from[g * n]; });
}

// ---- Launching ----

static size_t weights_of(const cuda_conv_task *t) {
    return (size_t)t->out.channels * (size_t)(t->in.channels * t->kernel_h * t->kernel_w);
}

static size_t sums_of(const cuda_conv_task *t, int lanes, int shards) {
    const size_t groups = (size_t)(shards * t->channel_parts) * groups_of(lanes);
    const size_t floats = groups * ((t->linear ? 0 : weights_of(t)) + (size_t)t->out.channels);
    return (floats + 3) / 4 * 4; // for float4 after them
}

size_t cuda_exact_workspace(const cuda_conv_task *t, int lanes, int shards) {
    const size_t sums = sums_of(t, lanes, shards);
    return sums + (t->winograd ? cuda_exact_winograd_workspace(t, lanes, shards) : 0);
}

static exact_weights weights_task(const cut *c, const cuda_conv_task *t) {
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

template <typename S> static size_t teams_of(const cuda_conv_task *t) {
    return (size_t)blocks_for((size_t)t->out.channels, S::OUTPUTS) *
           (size_t)rows_across<S>(t->in, t->kernel_h) * (size_t)taps_across<S>(t->kernel_w);
}

static size_t groups_in(const cut *c, const cuda_conv_task *t) {
    return (size_t)groups_of(c->lanes) * (size_t)((c->end - c->first) * t->channel_parts);
}

template <typename S> static void launch(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const dim3 grid(blocks_for(teams_of<S>(t), TEAMS), groups_of(c->lanes),
                    (unsigned)((c->end - c->first) * t->channel_parts));
    LAUNCH(sum_weights<S>, grid, WEIGHT_THREADS, s, weights_task(c, t));
}

// What a position costs, in cycles: the instructions of all warps that share a scheduler, or the
// latency of loads, whichever is more.
template <typename S> static size_t position_cost(const cut *c, const cuda_conv_task *t) {
    const size_t issue = (size_t)(LOAD_COST * S::LOADS + S::WEIGHTS);
    const size_t warps = teams_of<S>(t) * groups_in(c, t) * GROUP / WARP;
    const size_t busy = (warps + SCHEDULERS - 1) / SCHEDULERS * issue;
    const size_t waiting = issue + (size_t)(LATENCY / S::AHEAD);
    return busy > waiting ? busy : waiting;
}

template <typename One, typename Many>
static void launch_cheaper(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (position_cost<One>(c, t) < position_cost<Many>(c, t))
        launch<One>(s, c, t);
    else
        launch<Many>(s, c, t);
}

// Lanes of up to 4 samples share the positions of a row (share_of), and no elements of x.
static void launch_direct(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const int stride = c->lanes > 4 && t->kernel_w > 1 ? t->stride_x : 0;
    const bool wide = t->out.width > 16;
    if (t->kernel_w <= 3 && stride == 1 && wide)
        launch_cheaper<tile_shape<1, 1, 3, 1, 32>, tile_shape<4, 1, 3, 1, 8>>(s, c, t);
    else if (t->kernel_w <= 3 && stride == 1)
        launch_cheaper<tile_shape<1, 1, 3, 1, 16>, tile_shape<4, 1, 3, 1, 8>>(s, c, t);
    else if (t->kernel_w <= 5 && stride == 1 && wide)
        launch_cheaper<tile_shape<1, 1, 5, 1, 32>, tile_shape<4, 1, 5, 1, 8>>(s, c, t);
    else if (t->kernel_w <= 5 && stride == 1)
        launch_cheaper<tile_shape<1, 1, 5, 1, 16>, tile_shape<4, 1, 5, 1, 8>>(s, c, t);
    else if (t->kernel_w <= 3 && stride == 2)
        launch_cheaper<tile_shape<1, 1, 3, 2, 8>, tile_shape<4, 1, 3, 2, 4>>(s, c, t);
    else
        launch_cheaper<tile_shape<1, 1, 1, 0, 16>, tile_shape<4, 4, 1, 0, 4>>(s, c, t);
}

static void add_groups(launch_stream s, const cut *c, const cuda_conv_task *t, int parts, size_t n,
                       size_t at) {
    const dim3 grid(blocks_for(n, WEIGHT_THREADS), 1, (unsigned)((c->end - c->first) * parts));
    LAUNCH(sum_groups, grid, WEIGHT_THREADS, s, *c, parts, n, t->workspace, t->gradients, at);
}

static void launch_weights(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (t->winograd)
        cuda_exact_winograd_weight(s, c, t, t->workspace,
                                   t->workspace + sums_of(t, c->lanes, c->end));
    else
        launch_direct(s, c, t);
    add_groups(s, c, t, t->channel_parts, weights_of(t), t->weight_at);
}

void cuda_exact_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
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
