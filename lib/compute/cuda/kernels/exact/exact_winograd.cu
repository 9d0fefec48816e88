// SPDX-License-Identifier: MIT
// 3×3 convolutions with stride 1, forward and input gradient, by Winograd's algorithm.
#include "compute/cuda/kernels/exact/exact_winograd.cuh"

#include "compute/cuda/kernels/exact/exact_correlation.cuh"

// ---- Filters ----

typedef struct filter_task {
    int outputs, channels; // of the correlation
    const float *weight;
    int weight_row, weight_channel; // floats from one output, channel, to the next
    bool flipped;
    float *to; // [point][outputs][channels]
} filter_task;

static __global__ void __launch_bounds__(TRANSFORM_THREADS) transform_filters(filter_task t) {
    const size_t filters = (size_t)t.outputs * (size_t)t.channels;
    const size_t own = (size_t)blockIdx.x * TRANSFORM_THREADS + threadIdx.x;
    const float *from = t.weight + own / (size_t)t.channels * (size_t)t.weight_row +
                        own % (size_t)t.channels * (size_t)t.weight_channel;
    compute_early(from);
    wait_for_kernels_before();
    if (own >= filters) return;
    vec half[3][PATCH], point[PATCH][PATCH];
#pragma unroll
    for (int y = 0; y < 3; y++) {
        vec g[3];
#pragma unroll
        for (int x = 0; x < 3; x++) g[x] = from[t.flipped ? 8 - (3 * y + x) : 3 * y + x];
        transform_filter(g, half[y]);
    }
#pragma unroll
    for (int k = 0; k < PATCH; k++) {
        const vec column[3] = {half[0][k], half[1][k], half[2][k]};
        vec r[PATCH];
        transform_filter(column, r);
#pragma unroll
        for (int i = 0; i < PATCH; i++) point[i][k] = r[i];
    }
    store_points(point, filters, t.to + own);
}

// ---- Patches ----

// blockIdx: columns, the channel.
static __global__ void __launch_bounds__(TRANSFORM_THREADS)
    transform_patches(cut c, portion p, shape size, int pad_y, int pad_x, const float *x,
                      float *to) {
    const int column = (int)(blockIdx.x * TRANSFORM_THREADS + threadIdx.x);
    const int columns = columns_of(p), channel = (int)blockIdx.y;
    const column_place at = place_of_column(c, p, column);
    const channel_view in = channel_of(x, size, channel, at, p.lanes);
    wait_for_kernels_before();
    if (column >= columns) return;
    vec point[PATCH][PATCH];
#pragma unroll
    for (int j = 0; j < PATCH; j++) {
        vec d[PATCH], r[PATCH];
#pragma unroll
        for (int i = 0; i < PATCH; i++) d[i] = in.at(at.y - pad_y + i, at.x - pad_x + j);
        transform_input(d, r);
#pragma unroll
        for (int i = 0; i < PATCH; i++) point[i][j] = r[i];
    }
#pragma unroll
    for (int i = 0; i < PATCH; i++) {
        vec r[PATCH];
        transform_input(point[i], r);
#pragma unroll
        for (int k = 0; k < PATCH; k++) point[i][k] = r[k];
    }
    store_points(point, (size_t)size.channels * (size_t)columns,
                 to + (size_t)channel * (size_t)columns + (size_t)column);
}

void cuda_winograd_patches(launch_stream s, const cut *c, const portion *p, shape size, int pad_y,
                           int pad_x, const float *x, float *to) {
    const dim3 grid(blocks_for((size_t)columns_of(*p), TRANSFORM_THREADS), (unsigned)size.channels);
    LAUNCH(transform_patches, grid, TRANSFORM_THREADS, s, *c, *p, size, pad_y, pad_x, x, to);
}

// ---- Products ----

// 36 products of two factors, [point][outputs][channels] · [point][channels][columns], to
// [point][outputs][columns]; over the channels in order.
typedef struct point_products {
    int outputs, channels, columns;
    const float *filters, *patches;
    float *to;
} point_products;

// A product is a convolution with a 1×1 kernel, and a point is a part with filters of its own.
static void multiply_points(launch_stream s, const point_products *t) {
    const int lanes = LANE_ROUND, pixels = t->columns / lanes;
    const cut one = {0, 1, lanes, NULL};
    cuda_conv_task c = {};
    c.channel_parts = POINTS;
    c.in = {t->channels, 1, pixels};
    c.out = {t->outputs, 1, pixels};
    c.kernel_h = c.kernel_w = c.stride_y = c.stride_x = 1;
    c.x = t->patches;
    c.weight = t->filters;
    const correlation r = forward_of(lanes, 0, &c);
    const ordered_correlation o = {r, r.terms, NULL, t->to, {}};
    cuda_exact_correlate(s, &one, &o);
}

// ---- Outputs ----

typedef struct output_task {
    shape size;
    const float *sums, *bias; // [point][channel][column]; bias NULL: none
    float *to;
} output_task;

// Writes four outputs of a row, of which `live` exist.
static __device__ __forceinline__ void store_outputs(const vec (&r)[TILE], float bias, int live,
                                                     int lanes, float *to) {
#pragma unroll
    for (int j = 0; j < TILE; j++)
        if (j < live) to[(ptrdiff_t)j * lanes] = r[j] + bias;
}

// blockIdx: columns, the channel.
static __global__ void __launch_bounds__(TRANSFORM_THREADS)
    transform_outputs(cut c, portion p, output_task t) {
    const int column = (int)(blockIdx.x * TRANSFORM_THREADS + threadIdx.x);
    const int columns = columns_of(p), channel = (int)blockIdx.y;
    const column_place at = place_of_column(c, p, column);
    const size_t next = (size_t)t.size.channels * (size_t)columns;
    const float *from = t.sums + (size_t)channel * (size_t)columns + (size_t)column;
    compute_early(at.shard);
    wait_for_kernels_before();
    if (column >= columns) return;
    if (!at.live) return;
    vec half[TILE][PATCH];
#pragma unroll
    for (int k = 0; k < PATCH; k++) {
        vec sum[PATCH], r[TILE];
#pragma unroll
        for (int i = 0; i < PATCH; i++) sum[i] = from[(size_t)(i * PATCH + k) * next];
        transform_output(sum, r);
#pragma unroll
        for (int i = 0; i < TILE; i++) half[i][k] = r[i];
    }
    const size_t plane = at.shard * (size_t)t.size.channels + (size_t)channel;
    const float bias = t.bias ? t.bias[channel] : 0.0f;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        vec r[TILE];
        transform_output(half[i], r);
        if (at.y + i >= t.size.height) break;
        const size_t row = plane * (size_t)t.size.height + (size_t)(at.y + i);
        const size_t pixel = row * (size_t)t.size.width + (size_t)at.x;
        store_outputs(r, bias, t.size.width - at.x, p.lanes,
                      t.to + pixel * (size_t)p.lanes + at.sample);
    }
}

// ---- The whole convolution ----

typedef struct winograd_task {
    shape in, out; // of the correlation
    int pad_y, pad_x;
    filter_task filters;
    const float *x, *bias;
    float *to;
    float *room;
} winograd_task;

static size_t filter_floats(shape in, shape out) {
    return (size_t)POINTS * (size_t)in.channels * (size_t)out.channels;
}
static size_t column_floats(shape in, shape out) {
    return (size_t)POINTS * (size_t)(in.channels + out.channels);
}

static size_t floats_of(const cut *c, shape in, shape out) {
    const size_t column = column_floats(in, out);
    const portion p = first_portion(c, out, column, 0);
    return filter_floats(in, out) + portion_floats(&p, column, 0);
}

size_t cuda_exact_transforms(const cuda_conv_task *t, int lanes, int shards) {
    const cut all = {0, shards, lanes, NULL};
    if (!t->winograd) return 0;
    const size_t forward = floats_of(&all, t->in, t->out), input = floats_of(&all, t->out, t->in);
    return forward > input ? forward : input;
}

static void run_portion(launch_stream s, const cut *c, const portion *p, const winograd_task *t) {
    const int columns = columns_of(*p);
    float *patches = t->room + filter_floats(t->in, t->out);
    float *sums = patches + (size_t)POINTS * (size_t)t->in.channels * (size_t)columns;
    const point_products products = {t->out.channels, t->in.channels, columns,
                                     t->room,         patches,        sums};
    const output_task outputs = {t->out, sums, t->bias, t->to};
    const dim3 grid(blocks_for((size_t)columns, TRANSFORM_THREADS), (unsigned)t->out.channels);
    cuda_winograd_patches(s, c, p, t->in, t->pad_y, t->pad_x, t->x, patches);
    multiply_points(s, &products);
    LAUNCH(transform_outputs, grid, TRANSFORM_THREADS, s, *c, *p, outputs);
}

static void run(launch_stream s, const cut *c, const winograd_task *t) {
    const size_t filters = (size_t)t->in.channels * (size_t)t->out.channels;
    const portion first = first_portion(c, t->out, column_floats(t->in, t->out), 0);
    if (first.groups == 0) return;
    LAUNCH(transform_filters, blocks_for(filters, TRANSFORM_THREADS), TRANSFORM_THREADS, s,
           t->filters);
    portion_walk w = walk_from(&first);
    do run_portion(s, c, &w.now, t);
    while (next_portion(&w));
}

void cuda_exact_winograd(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const filter_task filters = {t->out.channels, t->in.channels, t->weight, 9 * t->in.channels, 9,
                                 false,           t->transforms};
    const winograd_task w = {t->in, t->out,  t->pad_y, t->pad_x,     filters,
                             t->x,  t->bias, t->z,     t->transforms};
    run(s, c, &w);
}

void cuda_exact_winograd_input(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const filter_task filters = {t->in.channels, t->out.channels, t->weight, 9, 9 * t->in.channels,
                                 true,           t->transforms};
    const winograd_task w = {t->out, t->in, 2 - t->pad_y, 2 - t->pad_x, filters,
                             t->z,   NULL,  t->dx,        t->transforms};
    run(s, c, &w);
}
