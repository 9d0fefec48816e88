// SPDX-License-Identifier: MIT
// Weight and bias gradients of a convolution.
//
// As a matrix product: rows are output channels, columns weights of one of them (channel, kernel
// row, kernel column), terms (pixel, lane). The left factor is dz, the right factor the input under
// an element of the kernel. The sums are few and long, so the terms are cut into parts, one thread
// block each. The parts form bundles: the last block of a bundle adds its parts, and the last of
// these blocks adds the bundles, in order. The number of parts depends on the layer and `lanes`.
//
// The bias gradient is the sum of the left factor, taken while it is loaded.
#include "compute/cuda/kernels/conv_product.cuh"
#include "compute/cuda/kernels/last_block.cuh"
#include "compute/layer_sums.h"

// Rows and columns, depth, rows and columns of a thread, slices, resident blocks. Sums are longer
// than in conv.cu, so tiles may be deeper.
#define SHAPES(SHAPE)                      \
    SHAPE(8x32, 8, 32, 64, 4, 4, 8, 4)     \
    SHAPE(16x32, 16, 32, 64, 4, 4, 4, 4)   \
    SHAPE(16x64, 16, 64, 32, 4, 4, 2, 4)   \
    SHAPE(32x64, 32, 64, 32, 4, 4, 1, 4)   \
    SHAPE(64x64, 64, 64, 16, 8, 4, 1, 4)   \
    SHAPE(64x128, 64, 128, 16, 8, 8, 1, 3) \
    SHAPE(128x128, 128, 128, 16, 8, 8, 1, 2)
SHAPES(SHAPE_TYPE)
enum { SHAPES(SHAPE_NAME) SHAPE_COUNT };

enum {
    PART_ROUND = 64,   // terms of a part: a multiple of every shape's DEPTH
    LEAST_TERMS = 128, // of a part
    MOST_TERMS = 8192, // of a part of a long sum (layer_sums.h)
    LEAST_BUNDLE = 8   // parts: this many are read before the first is added
};

typedef struct weight_gradient {
    shape in, out;
    int lanes;
    int channel_parts; // cuda_conv_task
    int first;         // of these, over all shards
    int stride_y, stride_x, pad_y, pad_x;
    radix kernel;     // rows, columns
    int columns;      // weights of an output channel
    int terms, parts; // of the sum; number of its parts
    int part_terms;
    int bundle;  // parts of a bundle
    digits step; // step of a thread's position (y, x, lane)
    const float *x, *dz;
    float *workspace;   // [channel part][block of weights][part] of part_sums
    unsigned *counters; // [channel part][block of weights][counters_of]
    bool bias;
    gradient_set gradients;
    size_t weight_at, bias_at;
} weight_gradient;

// For a block of weights: one per bundle, and one for the bundles.
static __host__ __device__ __forceinline__ int counters_of(int parts, int bundle) {
    return pieces(parts, bundle) + 1;
}

// A column of the product: an element of the kernel in a channel of the input.
struct weight_column {
    int channel, y, x; // y, x: relative to the output pixel's position in the input
};

template <typename S> struct gradient_source {
    static constexpr int FOURS = S::DEPTH / 4; // threads for a row (column) of a tile
    static constexpr int STEP = S::THREADS / FOURS;
    static constexpr int LEFT = (S::ROWS + STEP - 1) / STEP;
    static constexpr int RIGHT = (S::COLUMNS + STEP - 1) / STEP;
    // A warp takes four fours of eight rows: whole segments of memory, and all banks of a tile.
    static constexpr int PATCHES = FOURS / 4; // next to each other
    static_assert(PART_ROUND % S::DEPTH == 0 && S::THREADS % (PATCHES * WARP) == 0, "shares");

    const weight_gradient &t;
    digits place;        // of this thread's four terms
    int term;            // the same as a single number
    const float *dz, *x; // the first row that this thread loads; the shard's input
    int rows;            // number that exist from there on
    weight_column weights[RIGHT];
    float4 left[LEFT], right[RIGHT];
    float row_sum[LEFT];

    static __device__ __forceinline__ int own_four() {
        return (int)threadIdx.x / WARP % PATCHES * 4 + (int)threadIdx.x % 4;
    }

    // The row, or the column.
    static __device__ __forceinline__ int own_row() {
        return (int)threadIdx.x / WARP / PATCHES * 8 + (int)threadIdx.x % WARP / 4;
    }

    __device__ __forceinline__ gradient_source(const weight_gradient &task, const float *shard_dz,
                                               const float *shard_x, int row, int column,
                                               int first_term)
        : t(task), x(shard_x) {
        const int own = own_row();
        term = first_term + 4 * own_four();
        place = digits_of(term, {t.out.width, t.lanes});
        const int rest = t.out.channels - row;
        rows = (rest < S::ROWS ? rest : S::ROWS) - own;
        dz = shard_dz + (ptrdiff_t)(row + own) * t.terms;
#pragma unroll
        for (int i = 0; i < LEFT; i++) row_sum[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < RIGHT; i++) {
            const int n = column + own + i * STEP;
            const digits d = digits_of(n, t.kernel);
            weights[i] = {d.high, d.middle - t.pad_y, d.low - t.pad_x};
            if (n >= t.columns) weights[i].y = NOWHERE;
            compute_early(weights[i].channel);
        }
    }

    __device__ __forceinline__ float4 element(const weight_column &e) const {
        const int iy = place.high * t.stride_y + e.y, ix = place.middle * t.stride_x + e.x;
        if ((unsigned)iy >= (unsigned)t.in.height || (unsigned)ix >= (unsigned)t.in.width)
            return zero_four();
        const int plane = t.in.height * t.in.width * t.lanes;
        return load_four(x + (ptrdiff_t)e.channel * plane + (iy * t.in.width + ix) * t.lanes +
                         place.low);
    }

    // Past the last term the left factor is zero, whatever the right one is.
    __device__ __forceinline__ void fetch() {
        const int live = term < t.terms ? rows : 0;
#pragma unroll
        for (int i = 0; i < LEFT; i++)
            left[i] = i * STEP < live ? load_four(dz + (ptrdiff_t)(i * STEP) * t.terms + term)
                                      : zero_four();
#pragma unroll
        for (int i = 0; i < RIGHT; i++) right[i] = element(weights[i]);
        term += S::DEPTH;
        advance(place, t.step, {t.out.width, t.lanes});
    }

    // Four terms become a column of the tile. The threads of a warp are four columns apart, where
    // the padding only reaches half of the banks: so every other pair of threads begins with the
    // later terms.
    template <int WIDTH>
    static __device__ __forceinline__ void put_four(float (*to)[WIDTH], int at, float4 v) {
        const int four = own_four(), k = 4 * four, turn = four & 2;
        to[k + turn][at] = turn ? v.z : v.x;
        to[k + turn + 1][at] = turn ? v.w : v.y;
        to[k + 2 - turn][at] = turn ? v.x : v.z;
        to[k + 3 - turn][at] = turn ? v.y : v.w;
    }

    __device__ __forceinline__ void put(factor_tile<S> &tile) {
        const int own = own_row();
#pragma unroll
        for (int i = 0; i < LEFT; i++) {
            row_sum[i] += (left[i].x + left[i].y) + (left[i].z + left[i].w);
            if (S::ROWS % STEP == 0 || own + i * STEP < S::ROWS)
                put_four(tile.left, own + i * STEP, left[i]);
        }
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            if (S::COLUMNS % STEP == 0 || own + i * STEP < S::COLUMNS)
                put_four(tile.right, own + i * STEP, right[i]);
    }
};

// ---- A part of a block of weights ----

// A block's part in the workspace: its rows are output channels, its columns weights of each,
// including those past the last.
template <typename S> struct alignas(16) part_sums {
    float weights[S::ROWS * S::COLUMNS];
    float biases[S::ROWS];
};

// A block of weights; its parts are in bundles: see parts_of.
template <typename S> struct weight_block {
    int row, column; // the first
    bool bias;       // does it also have the biases?
    part_sums<S> *parts;
    unsigned *counters; // of each bundle's parts, then of the bundles
    size_t channel_part;
    float *gradients;
};

template <typename S>
static __device__ __forceinline__ weight_block<S> weight_block_of(const weight_gradient &t) {
    const int row_blocks = pieces(t.out.channels, S::ROWS);
    const size_t block = blockIdx.x + (size_t)gridDim.x * blockIdx.z;
    weight_block<S> b;
    b.row = (int)blockIdx.x % row_blocks * S::ROWS;
    b.column = (int)blockIdx.x / row_blocks * S::COLUMNS;
    b.bias = t.bias && b.column == 0;
    b.parts = reinterpret_cast<part_sums<S> *>(t.workspace) + block * (size_t)t.parts;
    b.counters = t.counters + block * (size_t)counters_of(t.parts, t.bundle);
    const size_t number = (size_t)t.first + blockIdx.z, shard = number / (size_t)t.channel_parts;
    b.channel_part = number % (size_t)t.channel_parts;
    b.gradients = t.gradients.base + shard * t.gradients.stride;
    return b;
}

template <typename S>
static __device__ __forceinline__ void put_weight(const weight_gradient &t,
                                                  const weight_block<S> &b, int row, int column,
                                                  float sum) {
    const int o = b.row + row, n = b.column + column;
    if (o < t.out.channels && n < t.columns)
        b.gradients[t.weight_at +
                    (b.channel_part * (size_t)t.out.channels + (size_t)o) * (size_t)t.columns +
                    (size_t)n] = sum;
}

template <typename S>
static __device__ __forceinline__ void put_bias(const weight_gradient &t, const weight_block<S> &b,
                                                int row, float sum) {
    const int o = b.row + row;
    if (b.bias && o < t.out.channels)
        b.gradients[t.bias_at + b.channel_part * (size_t)t.out.channels + (size_t)o] = sum;
}

// Returns the sum of a row of the left factor, from the threads that loaded parts of it; in the
// thread of the row's number.
template <typename S>
static __device__ __forceinline__ float row_sum(const gradient_source<S> &source) {
    typedef gradient_source<S> own_source;
    __shared__ float part[S::ROWS][own_source::FOURS + 1];
    const int thread = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < own_source::LEFT; i++) {
        const int row = own_source::own_row() + i * own_source::STEP;
        if (row < S::ROWS) part[row][own_source::own_four()] = source.row_sum[i];
    }
    __syncthreads();
    if (thread >= S::ROWS) return 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < own_source::FOURS; i++) sum += part[thread][i];
    return sum;
}

// Writes the sums of a part: to the gradient buffer if it is the only part, otherwise to the
// workspace.
template <typename S>
static __device__ __forceinline__ void write_part(const weight_gradient &t,
                                                  const weight_block<S> &b, const thread_place &p,
                                                  const block_sums<S> &sums, float bias) {
    part_sums<S> *part = b.parts + blockIdx.y;
    const int thread = (int)threadIdx.x;
    if (thread < S::ROWS) {
        if (t.parts == 1)
            put_bias(t, b, thread, bias);
        else if (b.bias)
            part->biases[thread] = bias;
    }
    if (p.slice > 0) return;
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int row = block_row<S>(p, r);
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
            const int column = block_column<S>(p, c);
            const float *sum = sums.at[r] + c;
            if (t.parts > 1) {
                store_four(part->weights + row * S::COLUMNS + column,
                           make_float4(sum[0], sum[1], sum[2], sum[3]));
                continue;
            }
            for (int i = 0; i < 4; i++) put_weight(t, b, row, column + i, sum[i]);
        }
    }
}

// ---- All parts ----

// `count` parts from the first on, `step` apart.
struct run {
    int first, step, count;
};

// Adds four sums of a run in order; `which`: index of the four in a part_sums.
template <typename S>
static __device__ __forceinline__ float4 sum_run(const part_sums<S> *parts, run r, int which) {
    constexpr int FOURS = (int)sizeof(part_sums<S>) / (int)sizeof(float4);
    const float4 *from = reinterpret_cast<const float4 *>(parts + r.first) + which;
    float4 sum = zero_four();
#pragma unroll 8
    for (int i = 0; i < r.count; i++) {
        const float4 v = __ldcg(from + (ptrdiff_t)i * r.step * FOURS);
        sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
    }
    return sum;
}

template <typename S>
static __device__ __forceinline__ void put_four(const weight_gradient &t, const weight_block<S> &b,
                                                int which, float4 sum) {
    const float v[4] = {sum.x, sum.y, sum.z, sum.w};
    const int first = 4 * which, biases = first - S::ROWS * S::COLUMNS;
    for (int i = 0; i < 4; i++) {
        if (biases < 0)
            put_weight(t, b, first / S::COLUMNS, first % S::COLUMNS + i, v[i]);
        else
            put_bias(t, b, biases + i, v[i]);
    }
}

// The last block of a bundle adds its parts, the last of these blocks the bundles. A bundle's sum
// replaces its first part.
template <typename S>
static __device__ __forceinline__ void finish(const weight_gradient &t, const weight_block<S> &b) {
    const int bundles = pieces(t.parts, t.bundle), bundle = (int)blockIdx.y / t.bundle;
    const int fours = (S::ROWS * S::COLUMNS + (b.bias ? S::ROWS : 0)) / 4;
    run r = {bundle * t.bundle, 1, t.bundle};
    if (r.first + r.count > t.parts) r.count = t.parts - r.first;
    if (!is_last_block(b.counters + bundle, (unsigned)r.count)) return;
    if (bundles > 1) {
        for (int i = (int)threadIdx.x; i < fours; i += S::THREADS)
            reinterpret_cast<float4 *>(b.parts + r.first)[i] = sum_run(b.parts, r, i);
        if (!is_last_block(b.counters + bundles, (unsigned)bundles)) return;
        r = {0, t.bundle, bundles};
    }
    for (int i = (int)threadIdx.x; i < fours; i += S::THREADS)
        put_four(t, b, i, sum_run(b.parts, r, i));
}

// blockIdx: the block of weights, the part, the shard.
template <typename S>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT) sum_weights(weight_gradient t) {
    const size_t shard = (size_t)t.first + blockIdx.z; // or a part of its channels
    const int first_term = (int)blockIdx.y * t.part_terms;
    const int left = t.terms - first_term;
    const int terms = left < t.part_terms ? left : t.part_terms;
    const size_t in_size =
        (size_t)(t.in.height * t.in.width) * (size_t)t.lanes * (size_t)t.in.channels;
    const size_t out_size = (size_t)t.terms * (size_t)t.out.channels;

    const thread_place p = place_of_thread<S>();
    const weight_block<S> b = weight_block_of<S>(t);
    block_sums<S> sums;
    gradient_source<S> source(t, t.dz + shard * out_size, t.x + shard * in_size, b.row, b.column,
                              first_term);
    wait_for_kernels_before();
    clear_sums(sums);
    multiply<S>(source, pieces(terms, S::DEPTH), p, sums);
    write_part(t, b, p, sums, b.bias ? row_sum(source) : 0.0f);
    if (t.parts > 1) finish(t, b);
}

// ---- Launching ----

static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};

typedef struct weight_parts {
    int block; // index of the shape
    int columns, terms, parts, part_terms, bundle;
    size_t blocks, part_floats; // of weights; of a part_sums
} weight_parts;

// Enough parts to fill the device (small blocks need more than large ones), but not slightly more
// than that, because everything would wait for the last few. Each part writes all of its sums once,
// so it must be long enough to make that cheap; the parts of large images are not so long that
// their sums lose digits. If there are too few terms for many parts, small blocks are used. There
// are about as many bundles as parts per bundle, because the block that adds them reads them one
// after another, alone.
static weight_parts parts_of(const cuda_conv_task *t, int lanes) {
    weight_parts p;
    p.columns = t->in.channels * t->kernel_h * t->kernel_w;
    p.terms = t->out.height * t->out.width * lanes;
    const int fill = pieces(PROCESSORS, pieces(p.terms, LEAST_TERMS));
    p.block = pick_block(sizes, SHAPE_COUNT, t->out.channels, p.columns, fill);
    const block_size b = sizes[p.block];
    const int blocks = blocks_of(b, t->out.channels, p.columns);
    const bool small = b.rows * b.columns < 64 * 64;
    const int wanted = (small ? 4 : 2) * PROCESSORS, least = small ? LEAST_TERMS : 4 * LEAST_TERMS;
    const int terms = pieces(p.terms, blocks < wanted ? wanted / blocks : 1);
    p.part_terms = pieces(terms < least ? least : terms, PART_ROUND) * PART_ROUND;
    if (is_long_sum(t->out.height, t->out.width) && p.part_terms > MOST_TERMS)
        p.part_terms = MOST_TERMS;
    p.parts = pieces(p.terms, p.part_terms);
    p.bundle = LEAST_BUNDLE;
    while (p.bundle * p.bundle < p.parts) p.bundle++;
    p.blocks = (size_t)blocks;
    p.part_floats = (size_t)(b.rows * b.columns + b.rows);
    return p;
}

size_t cuda_conv_workspace(const cuda_conv_task *t, int lanes, int shards) {
    const weight_parts p = parts_of(t, lanes);
    return (size_t)(shards * t->channel_parts) * p.blocks * (size_t)p.parts * p.part_floats;
}

size_t cuda_conv_counters(const cuda_conv_task *t, int lanes, int shards) {
    const weight_parts p = parts_of(t, lanes);
    return (size_t)(shards * t->channel_parts) * p.blocks * (size_t)counters_of(p.parts, p.bundle);
}

template <typename S> static void launch(launch_stream s, const cut *c, weight_gradient t) {
    const int blocks = pieces(t.out.channels, S::ROWS) * pieces(t.columns, S::COLUMNS);
    const dim3 grid((unsigned)blocks, (unsigned)t.parts,
                    (unsigned)((c->end - c->first) * t.channel_parts));
    t.step = digits_of(S::DEPTH, {t.out.width, t.lanes});
    LAUNCH(sum_weights<S>, grid, dim3(S::THREADS), s, t);
}

void cuda_conv_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const weight_parts p = parts_of(t, c->lanes);
    weight_gradient g = {};
    g.in = t->in;
    g.out = t->out;
    g.lanes = c->lanes;
    g.channel_parts = t->channel_parts;
    g.first = c->first * t->channel_parts;
    g.stride_y = t->stride_y;
    g.stride_x = t->stride_x;
    g.pad_y = t->pad_y;
    g.pad_x = t->pad_x;
    g.kernel = {t->kernel_h, t->kernel_w};
    g.columns = p.columns;
    g.terms = p.terms;
    g.parts = p.parts;
    g.part_terms = p.part_terms;
    g.bundle = p.bundle;
    g.x = t->x;
    g.dz = t->z;
    g.workspace = t->workspace;
    g.counters = t->counters;
    g.bias = t->bias != NULL;
    g.gradients = t->gradients;
    g.weight_at = t->weight_at;
    g.bias_at = t->bias_at;
    switch (p.block) {
#define SHAPE_CASE(name, ...) \
    case BLOCK_##name: launch<block_##name>(s, c, g); break;
        SHAPES(SHAPE_CASE)
    }
}
