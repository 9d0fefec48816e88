// SPDX-License-Identifier: MIT
// Weight gradients of 3×3 convolutions with stride 1, by Winograd's algorithm: the sums of each
// group, tile by tile and sample by sample. exact_weight.cu adds the groups.
#include "compute/cuda/kernels/conv_product.cuh"
#include "compute/cuda/kernels/exact/exact_winograd.cuh"
#include "compute/layer_sums.h"

// ---- Gradients of the output ----

// blockIdx: columns, the channel. Elements of tiles past the edge are zeros.
static __global__ void __launch_bounds__(TRANSFORM_THREADS)
    transform_gradients(cut c, portion p, shape size, const float *dz, float *to) {
    const int column = (int)(blockIdx.x * TRANSFORM_THREADS + threadIdx.x);
    const int columns = columns_of(p), channel = (int)blockIdx.y;
    const column_place at = place_of_column(c, p, column);
    const channel_view d = channel_of(dz, size, channel, at, p.lanes);
    wait_for_kernels_before();
    if (column >= columns) return;
    vec half[TILE][PATCH], point[PATCH][PATCH];
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        vec row[TILE];
#pragma unroll
        for (int j = 0; j < TILE; j++) row[j] = d.at(at.y + i, at.x + j);
        transform_output_gradient(row, half[i]);
    }
#pragma unroll
    for (int k = 0; k < PATCH; k++) {
        const vec line[TILE] = {half[0][k], half[1][k], half[2][k], half[3][k]};
        vec r[PATCH];
        transform_output_gradient(line, r);
#pragma unroll
        for (int i = 0; i < PATCH; i++) point[i][k] = r[i];
    }
    store_points(point, (size_t)size.channels * (size_t)columns,
                 to + (size_t)channel * (size_t)columns + (size_t)column);
}

// ---- Products ----

#define SHAPES(SHAPE)                    \
    SHAPE(16x32, 16, 32, 32, 2, 4, 1, 8) \
    SHAPE(32x64, 32, 64, 16, 4, 4, 1, 4) \
    SHAPE(64x64, 64, 64, 16, 8, 4, 1, 4)
SHAPES(SHAPE_TYPE)
enum { SHAPES(SHAPE_NAME) SHAPE_COUNT };

// [outputs][terms] · [terms][channels] for each group and point; a term is (tile, lane), so that
// the terms of a group are neighbouring columns.
typedef struct term_products {
    int outputs, channels;
    int columns, terms; // of a portion, of one of its groups
    bool later;         // there are sums of earlier tiles
    bool parts;         // sums of `part` terms are added; else all terms, one by one
    int part;
    float *gradients, *patches; // [point][outputs or channels][column]
    float *sums;                // [group][point][outputs][channels]
} term_products;

// Loads DEPTH terms of a block's rows, which are outputs, and columns, which are channels.
template <typename S> struct term_source {
    static constexpr int FOURS = S::DEPTH / 4, STEP = S::THREADS / FOURS; // threads of a row; rows
    static constexpr int LEFT = S::ROWS / STEP, RIGHT = S::COLUMNS / STEP;
    static_assert(LEFT * STEP == S::ROWS && RIGHT * STEP == S::COLUMNS, "shares");

    const float *rows, *columns; // the thread's first ones
    int live_rows, live_columns; // number that exist from there on
    int next;                    // floats from one to the next
    int term, terms;
    float4 left[LEFT], right[RIGHT];

    __device__ __forceinline__ term_source(const term_products &t, int point, int group, int row,
                                           int column)
        : next(t.columns), terms(t.terms) {
        const int own = (int)threadIdx.x / FOURS;
        term = (int)threadIdx.x % FOURS * 4;
        live_rows = t.outputs - row - own;
        live_columns = t.channels - column - own;
        const size_t from = (size_t)group * (size_t)t.terms, length = (size_t)t.columns;
        rows = t.gradients + (size_t)(point * t.outputs + row + own) * length + from;
        columns = t.patches + (size_t)(point * t.channels + column + own) * length + from;
    }

    template <int N>
    __device__ __forceinline__ void fetch_factor(const float *from, int live, float4 (&to)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++)
            to[i] = i * STEP < live && term < terms
                        ? load_four(from + (ptrdiff_t)(i * STEP) * next + term)
                        : zero_four();
    }

    __device__ __forceinline__ void fetch() {
        fetch_factor(rows, live_rows, left);
        fetch_factor(columns, live_columns, right);
        term += S::DEPTH;
    }

    template <int N, int M>
    __device__ __forceinline__ void put_factor(const float4 (&from)[N], float (&to)[S::DEPTH][M]) {
        const int k = (int)threadIdx.x % FOURS * 4, own = (int)threadIdx.x / FOURS;
#pragma unroll
        for (int i = 0; i < N; i++) {
            to[k][own + i * STEP] = from[i].x;
            to[k + 1][own + i * STEP] = from[i].y;
            to[k + 2][own + i * STEP] = from[i].z;
            to[k + 3][own + i * STEP] = from[i].w;
        }
    }

    __device__ __forceinline__ void put(factor_tile<S> &tile) {
        put_factor(left, tile.left);
        put_factor(right, tile.right);
    }
};

// Calls f(sum, its place in memory) for each of a thread's sums.
template <typename S, typename F>
static __device__ __forceinline__ void for_each_sum(const term_products &t, const thread_place &p,
                                                    int row, int column, float *to,
                                                    block_sums<S> &sums, const F &f) {
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int o = row + block_row<S>(p, r);
#pragma unroll
        for (int k = 0; k < S::THREAD_COLUMNS; k++) {
            const int n = column + block_column<S>(p, k);
            if (o < t.outputs && n < t.channels)
                f(sums.at[r][k], to[(ptrdiff_t)o * t.channels + n]);
        }
    }
}

// blockIdx: outputs and channels, the group, the point.
template <typename S>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT) sum_terms(term_products t) {
    const int across = pieces(t.channels, S::COLUMNS);
    const int row = (int)blockIdx.x / across * S::ROWS;
    const int column = (int)blockIdx.x % across * S::COLUMNS;
    const int group = (int)blockIdx.y, point = (int)blockIdx.z;
    float *to = t.sums + (ptrdiff_t)(group * POINTS + point) * t.outputs * t.channels;
    const thread_place p = place_of_thread<S>();
    const int part = t.parts ? t.part : t.terms;
    term_source<S> source(t, point, group, row, column);
    compute_early(row);
    wait_for_kernels_before();
    block_sums<S> sums;
    clear_sums(sums);
    if (t.later && !t.parts)
        for_each_sum<S>(t, p, row, column, to, sums, [](float &sum, float &all) { sum = all; });
    for (int first = 0; first < t.terms; first += part) {
        const bool adds = t.parts && (t.later || first > 0);
        const int left = t.terms - first;
        multiply<S>(source, pieces(left < part ? left : part, S::DEPTH), p, sums);
        for_each_sum<S>(t, p, row, column, to, sums, [adds](float &sum, float &all) {
            all = adds ? all + sum : sum;
            sum = 0;
        });
        __syncthreads();
    }
}

template <typename S> static void launch(launch_stream s, int groups, const term_products &t) {
    const int blocks = pieces(t.outputs, S::ROWS) * pieces(t.channels, S::COLUMNS);
    LAUNCH(sum_terms<S>, dim3((unsigned)blocks, (unsigned)groups, POINTS), dim3(S::THREADS), s, t);
}

static void launch_picked(launch_stream s, int groups, const term_products &t) {
    static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};
    const int products = POINTS * groups, fill = products < FILL ? FILL / products : 1;
    switch (pick_block(sizes, SHAPE_COUNT, t.outputs, t.channels, fill)) {
#define SHAPE_CASE(name, ...) \
    case BLOCK_##name: launch<block_##name>(s, groups, t); break;
        SHAPES(SHAPE_CASE)
    }
}

// ---- Weights ----

// to[group][weight][9]. blockIdx: the weight, the group.
static __global__ void __launch_bounds__(TRANSFORM_THREADS)
    transform_sums(size_t weights, const float *sums, float *to) {
    const size_t own = (size_t)blockIdx.x * TRANSFORM_THREADS + threadIdx.x;
    const float *from = sums + (size_t)blockIdx.y * POINTS * weights + own;
    compute_early(from);
    wait_for_kernels_before();
    if (own >= weights) return;
    vec half[3][PATCH];
#pragma unroll
    for (int k = 0; k < PATCH; k++) {
        vec sum[PATCH], r[3];
#pragma unroll
        for (int i = 0; i < PATCH; i++) sum[i] = from[(size_t)(i * PATCH + k) * weights];
        transform_filter_gradient(sum, r);
#pragma unroll
        for (int i = 0; i < 3; i++) half[i][k] = r[i];
    }
    to += ((size_t)blockIdx.y * weights + own) * 9;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        vec g[3];
        transform_filter_gradient(half[i], g);
#pragma unroll
        for (int j = 0; j < 3; j++) to[3 * i + j] = g[j];
    }
}

// ---- The whole gradient ----

static size_t weights_of(const cuda_conv_task *t) {
    return (size_t)t->in.channels * (size_t)t->out.channels;
}

static portion portion_of(const cut *c, const cuda_conv_task *t, size_t *floats) {
    const size_t column = (size_t)POINTS * (size_t)(t->in.channels + t->out.channels);
    const size_t group = POINTS * weights_of(t);
    const portion p = first_portion(c, t->out, column, group);
    *floats = portion_floats(&p, column, group);
    return p;
}

size_t cuda_exact_winograd_workspace(const cuda_conv_task *t, int lanes, int shards) {
    const cut all = {0, shards, lanes, NULL};
    size_t floats;
    portion_of(&all, t, &floats);
    return floats;
}

static term_products products_of(const cuda_conv_task *t, const portion *p, float *room) {
    term_products m = {};
    m.outputs = t->out.channels;
    m.channels = t->in.channels;
    m.columns = columns_of(*p);
    m.terms = p->tiles * p->width;
    m.later = p->first_tile > 0;
    m.parts = is_long_sum(t->out.height, t->out.width);
    m.part = PORTION_TILES * p->width;
    m.sums = room;
    m.patches = room + (size_t)p->groups * POINTS * weights_of(t);
    m.gradients = m.patches + (size_t)POINTS * (size_t)m.channels * (size_t)m.columns;
    return m;
}

void cuda_exact_winograd_weight(launch_stream s, const cut *c, const cuda_conv_task *t, float *sums,
                                float *room) {
    const size_t weights = weights_of(t);
    size_t floats;
    const portion first = portion_of(c, t, &floats);
    portion_walk w = walk_from(&first);
    if (first.groups == 0) return;
    sums += (size_t)c->first * groups_of(c->lanes) * weights * 9;
    do {
        const portion *p = &w.now;
        const term_products m = products_of(t, p, room);
        const dim3 grid(blocks_for((size_t)m.columns, TRANSFORM_THREADS), (unsigned)m.outputs);
        cuda_winograd_patches(s, c, p, t->in, t->pad_y, t->pad_x, t->x, m.patches);
        LAUNCH(transform_gradients, grid, TRANSFORM_THREADS, s, *c, *p, t->out, t->z, m.gradients);
        launch_picked(s, p->groups, m);
        if (!is_last_of_image(&w)) continue;
        LAUNCH(transform_sums, dim3(blocks_for(weights, TRANSFORM_THREADS), (unsigned)p->groups),
               TRANSFORM_THREADS, s, weights, m.sums, sums + (size_t)p->first_group * weights * 9);
    } while (next_portion(&w));
}
