// Weight and bias gradients of a convolution.
//
// As a matrix product: rows are output channels, columns weights of one of them (channel, kernel
// row, kernel column), terms (pixel, lane). The left factor is dz, the right factor the input under
// an element of the kernel. There are few sums, and these are long: the terms are cut into parts, a
// block each, and a second kernel adds the parts, in order. How many there are depends on the layer
// and `lanes`.
//
// The bias gradient is the sum of the left factor, taken while it is loaded.
#include "compute/cuda/conv_product.cuh"

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
    PART_ROUND = 64,  // terms of a part: a multiple of every shape's DEPTH
    SUM_COLUMNS = 32, // of a block that adds parts
    SUM_SLICES = 8
};

typedef struct weight_gradient {
    shape in, out;
    int lanes;
    int first; // shard
    int stride_y, stride_x, pad_y, pad_x;
    radix kernel;     // rows, columns
    int columns;      // weights of an output channel
    int terms, parts; // of the sum; how many it is cut into
    int part_terms;
    digits step; // what a thread's place (y, x, lane) advances by
    const float *x, *dz;
    float *workspace; // [shard][part][entries]: weights, then biases
    int entries;
    bool bias;
    record_set records;
    size_t weight_at, bias_at;
} weight_gradient;

// What a column of the product is: an element of the kernel in a channel of the input.
struct weight_column {
    int channel, y, x; // y, x: from the output pixel's place in the input
};

template <typename S> struct gradient_source {
    static constexpr int FOURS = S::DEPTH / 4; // threads for a row (column) of a tile
    static constexpr int STEP = S::THREADS / FOURS;
    static constexpr int LEFT = (S::ROWS + STEP - 1) / STEP;
    static constexpr int RIGHT = (S::COLUMNS + STEP - 1) / STEP;
    static_assert(PART_ROUND % S::DEPTH == 0 && S::THREADS % FOURS == 0, "shares");

    const weight_gradient &t;
    digits place;        // of this thread's four terms
    int term;            // the same as one number
    const float *dz, *x; // the first row that this thread loads; the shard
    int rows;            // that exist from there on
    weight_column weights[RIGHT];
    float4 left[LEFT], right[RIGHT];
    float row_sum[LEFT];

    __device__ __forceinline__ gradient_source(const weight_gradient &task, const float *shard_dz,
                                               const float *shard_x, int row, int column,
                                               int first_term)
        : t(task), x(shard_x) {
        const int own = (int)threadIdx.x / FOURS;
        term = first_term + 4 * ((int)threadIdx.x % FOURS);
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
            if (n >= t.columns) weights[i].y = INT_MIN / 2; // never inside of the input
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

    // Terms behind the last: zeros of the left factor, whatever the right one is.
    __device__ __forceinline__ void fetch() {
        const int live = term < t.terms ? rows : 0;
#pragma unroll
        for (int i = 0; i < LEFT; i++) {
            left[i] = i * STEP < live ? load_four(dz + (ptrdiff_t)(i * STEP) * t.terms + term)
                                      : zero_four();
            row_sum[i] += (left[i].x + left[i].y) + (left[i].z + left[i].w);
        }
#pragma unroll
        for (int i = 0; i < RIGHT; i++) right[i] = element(weights[i]);
        term += S::DEPTH;
        advance(place, t.step, {t.out.width, t.lanes});
    }

    // Four terms become a column of the tile.
    template <int WIDTH>
    static __device__ __forceinline__ void put_four(float (*to)[WIDTH], int at, float4 v) {
        const int k = 4 * ((int)threadIdx.x % FOURS);
        to[k][at] = v.x;
        to[k + 1][at] = v.y;
        to[k + 2][at] = v.z;
        to[k + 3][at] = v.w;
    }

    __device__ __forceinline__ void put(factor_tile<S> &tile) const {
        const int own = (int)threadIdx.x / FOURS;
#pragma unroll
        for (int i = 0; i < LEFT; i++)
            if (S::ROWS % STEP == 0 || own + i * STEP < S::ROWS)
                put_four(tile.left, own + i * STEP, left[i]);
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            if (S::COLUMNS % STEP == 0 || own + i * STEP < S::COLUMNS)
                put_four(tile.right, own + i * STEP, right[i]);
    }
};

// The sums of the left factor's rows, from the threads that loaded parts of them.
template <typename S>
static __device__ __forceinline__ void write_row_sums(const gradient_source<S> &source, float *to,
                                                      int rows) {
    typedef gradient_source<S> own_source;
    __shared__ float part[S::ROWS][own_source::FOURS + 1];
    const int thread = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < own_source::LEFT; i++) {
        const int row = thread / own_source::FOURS + i * own_source::STEP;
        if (row < S::ROWS) part[row][thread % own_source::FOURS] = source.row_sum[i];
    }
    __syncthreads();
    if (thread >= S::ROWS || thread >= rows) return;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < own_source::FOURS; i++) sum += part[thread][i];
    to[thread] = sum;
}

// blockIdx: the block of weights, the part, the shard.
template <typename S>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT)
    sum_weight_part(weight_gradient t) {
    const size_t shard = (size_t)t.first + blockIdx.z;
    const int row_blocks = pieces(t.out.channels, S::ROWS);
    const int row = (int)blockIdx.x % row_blocks * S::ROWS;
    const int column = (int)blockIdx.x / row_blocks * S::COLUMNS;
    const int first_term = (int)blockIdx.y * t.part_terms;
    const int left = t.terms - first_term;
    const int terms = left < t.part_terms ? left : t.part_terms;
    const size_t in_size =
        (size_t)(t.in.height * t.in.width) * (size_t)t.lanes * (size_t)t.in.channels;
    const size_t out_size = (size_t)t.terms * (size_t)t.out.channels;

    const thread_place p = place_of_thread<S>();
    block_sums<S> sums;
    gradient_source<S> source(t, t.dz + shard * out_size, t.x + shard * in_size, row, column,
                              first_term);
    multiply<S>(source, pieces(terms, S::DEPTH), p, sums);

    float *to =
        t.workspace + ((size_t)blockIdx.z * (size_t)t.parts + blockIdx.y) * (size_t)t.entries;
    if (t.bias && column == 0)
        write_row_sums<S>(source, to + (ptrdiff_t)t.out.channels * t.columns + row,
                          t.out.channels - row);
    if (p.slice > 0) return;
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int o = row + element_of(p.row, r, S::ROW_THREADS);
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c++) {
            const int n = column + element_of(p.column, c, S::COLUMN_THREADS);
            if (o < t.out.channels && n < t.columns)
                to[(ptrdiff_t)o * t.columns + n] = sums.at[r][c];
        }
    }
}

// The parts of each entry, added: every SUM_SLICES-th by one thread, then these in order.
static __global__ void __launch_bounds__(SUM_COLUMNS *SUM_SLICES) add_parts(weight_gradient t) {
    __shared__ float slices[SUM_SLICES][SUM_COLUMNS];
    const int column = (int)threadIdx.x % SUM_COLUMNS, slice = (int)threadIdx.x / SUM_COLUMNS;
    const int weights = t.out.channels * t.columns;
    const int entry = (int)blockIdx.x * SUM_COLUMNS + column;
    const bool live = entry < (t.bias ? t.entries : weights);
    float sum = 0.0f;
    if (live) {
        const float *from = t.workspace + (size_t)blockIdx.z * (size_t)t.parts * (size_t)t.entries;
#pragma unroll 4
        for (int part = slice; part < t.parts; part += SUM_SLICES)
            sum += from[(ptrdiff_t)part * t.entries + entry];
    }
    slices[slice][column] = sum;
    __syncthreads();
    if (slice > 0 || !live) return;
    for (int i = 1; i < SUM_SLICES; i++) sum += slices[i][column];
    float *record = t.records.base + ((size_t)t.first + blockIdx.z) * t.records.stride;
    if (entry < weights)
        record[t.weight_at + (size_t)entry] = sum;
    else
        record[t.bias_at + (size_t)(entry - weights)] = sum;
}

// ---- Launching ----

static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};

typedef struct weight_plan {
    int block; // which shape
    int columns, terms, parts, part_terms, entries;
} weight_plan;

// Enough parts to fill the device, and a small block needs more company for that than a large one;
// but each part writes all of its sums once, so it must be long enough for that to be little.
static weight_plan plan_of(const conv_task *t, int lanes) {
    weight_plan p;
    p.columns = t->in.channels * t->kernel_h * t->kernel_w;
    p.terms = t->out.height * t->out.width * lanes;
    p.entries = t->out.channels * p.columns + t->out.channels;
    p.block = pick_block(sizes, SHAPE_COUNT, t->out.channels, p.columns, 0);
    const block_size b = sizes[p.block];
    const bool small = b.rows * b.columns < 64 * 64;
    const int wanted = (small ? 4 : 2) * PROCESSORS, least = small ? 128 : 512;
    const int parts = pieces(wanted, blocks_of(b, t->out.channels, p.columns));
    const int terms = pieces(p.terms, parts);
    p.part_terms = pieces(terms < least ? least : terms, PART_ROUND) * PART_ROUND;
    p.parts = pieces(p.terms, p.part_terms);
    return p;
}

size_t cuda_conv_workspace(const conv_task *t, int lanes, int shards) {
    const weight_plan p = plan_of(t, lanes);
    return (size_t)shards * (size_t)p.parts * (size_t)p.entries;
}

template <typename S> static void launch(cudaStream_t s, const cut *c, weight_gradient t) {
    const int blocks = pieces(t.out.channels, S::ROWS) * pieces(t.columns, S::COLUMNS);
    const dim3 grid((unsigned)blocks, (unsigned)t.parts, (unsigned)(c->end - c->first));
    t.step = digits_of(S::DEPTH, {t.out.width, t.lanes});
    LAUNCH(sum_weight_part<S>, grid, dim3(S::THREADS), s, t);
}

void cuda_conv_weight(cudaStream_t s, const cut *c, const conv_task *t) {
    const weight_plan p = plan_of(t, c->lanes);
    weight_gradient g = {};
    g.in = t->in;
    g.out = t->out;
    g.lanes = c->lanes;
    g.first = c->first;
    g.stride_y = t->stride_y;
    g.stride_x = t->stride_x;
    g.pad_y = t->pad_y;
    g.pad_x = t->pad_x;
    g.kernel = {t->kernel_h, t->kernel_w};
    g.columns = p.columns;
    g.terms = p.terms;
    g.parts = p.parts;
    g.part_terms = p.part_terms;
    g.entries = p.entries;
    g.x = t->x;
    g.dz = t->z;
    g.workspace = t->workspace;
    g.bias = t->bias != NULL;
    g.records = t->records;
    g.weight_at = t->weight_at;
    g.bias_at = t->bias_at;
    switch (p.block) {
#define SHAPE_CASE(name, ...) \
    case BLOCK_##name: launch<block_##name>(s, c, g); break;
        SHAPES(SHAPE_CASE)
    }
    const dim3 grid((unsigned)pieces(g.entries, SUM_COLUMNS), 1, (unsigned)(c->end - c->first));
    LAUNCH(add_parts, grid, dim3(SUM_COLUMNS * SUM_SLICES), s, g);
}
