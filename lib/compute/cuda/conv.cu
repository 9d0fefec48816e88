// Convolution forward and input gradient: one correlation.
//
// As a matrix product: rows are output channels, columns (pixel, lane), terms (channel, kernel row,
// kernel column). The left factor is the weights, the right factor the input under the kernel.
//
// The input gradient correlates dz with the weights flipped, the channels' roles exchanged. Both
// are index arithmetic: `weight_*` say where a weight lies. A stride of the convolution becomes
// `spread`: the rows of dz lie so far apart, with zeros between.
#include "compute/cuda/conv_product.cuh"

// A channel of one shard has fewer than 2^31 floats; so has a weight.

// Rows and columns, depth, rows and columns of a thread, slices, resident blocks. The narrow ones
// are for LeNet's few channels: deep tiles and many slices, because what they wait for is memory.
#define SHAPES(SHAPE)                      \
    SHAPE(8x32, 8, 32, 32, 4, 4, 8, 4)     \
    SHAPE(8x64, 8, 64, 32, 4, 4, 4, 4)     \
    SHAPE(16x32, 16, 32, 32, 4, 4, 4, 4)   \
    SHAPE(16x64, 16, 64, 32, 4, 4, 2, 4)   \
    SHAPE(32x64, 32, 64, 16, 4, 4, 1, 4)   \
    SHAPE(64x64, 64, 64, 16, 8, 4, 1, 4)   \
    SHAPE(64x128, 64, 128, 16, 8, 8, 1, 4) \
    SHAPE(128x128, 128, 128, 16, 8, 8, 1, 2)
SHAPES(SHAPE_TYPE)
enum { SHAPES(SHAPE_NAME) SHAPE_COUNT };

typedef struct correlation {
    shape in, out;
    int lanes;
    int first;          // shard
    int step_y, step_x; // input rows from one output row to the next
    int spread_y, spread_x;
    int pad_y, pad_x;                  // may be negative
    int in_row, in_plane;              // floats of the input
    int columns, terms;                // of the product
    const float *from, *weight, *bias; // bias NULL: none
    float *to;
    radix kernel;                                                 // rows, columns
    int weight_first, weight_row, weight_channel, weight_element; // floats from one to the next
    digits tile_step;                                             // DEPTH terms
} correlation;

// A term of the right factor: an element of the kernel in a channel of the input.
struct alignas(16) kernel_tap {
    ptrdiff_t at; // floats from the input under the kernel's first element, in channel 0
    int y, x;     // in the kernel
};

// Far outside of any input, yet sums with coordinates do not overflow.
enum { NOWHERE = INT_MIN / 2 };

// Each thread follows one term of the left factor from tile to tile. What it knows of the term, all
// threads need for the right factor: it tells them through `taps`, a tile ahead.
template <typename S, bool SPREAD> struct correlation_source {
    static constexpr int FOURS = S::COLUMNS / 4; // threads for a row of the right tile
    static constexpr int LEFT_STEP = S::THREADS / S::DEPTH, LEFT = S::ROWS / LEFT_STEP;
    static constexpr int RIGHT_STEP = S::THREADS / FOURS, RIGHT = S::DEPTH / RIGHT_STEP;
    static_assert(LEFT * LEFT_STEP == S::ROWS && RIGHT * RIGHT_STEP == S::DEPTH, "shares");

    const correlation &t;
    kernel_tap (*taps)[S::DEPTH];
    int turn;            // which taps are those of the next tile
    digits term;         // of the left factor
    int weights;         // where those of the first row are that this thread loads
    int rows;            // that exist from there on
    int y, x;            // of the input under the kernel's first element
    const float *column; // that element, in channel 0; or, with SPREAD, pixel (0, 0)
    float left[LEFT];
    float4 right[RIGHT];

    // All threads must meet before the first fetch.
    __device__ __forceinline__ correlation_source(const correlation &task, const float *from,
                                                  int row, int first_column,
                                                  kernel_tap (*shared_taps)[S::DEPTH])
        : t(task), taps(shared_taps), turn(0) {
        const int thread = (int)threadIdx.x;
        term = digits_of(thread % S::DEPTH, t.kernel);
        row += thread / S::DEPTH;
        rows = t.out.channels - row;
        weights = t.weight_first + row * t.weight_row;

        const int n = first_column + 4 * (thread % FOURS), pixel = n / t.lanes;
        y = pixel / t.out.width * t.step_y - t.pad_y;
        x = pixel % t.out.width * t.step_x - t.pad_x;
        column = from + n % t.lanes;
        if (!SPREAD) column += (ptrdiff_t)y * t.in_row + x * t.lanes;
        if (n >= t.columns) y = NOWHERE;
        tell(0);
    }

    __device__ __forceinline__ void tell(int to) {
        if ((int)threadIdx.x >= S::DEPTH) return;
        ptrdiff_t at = (ptrdiff_t)term.high * t.in_plane;
        if (!SPREAD) at += term.middle * t.in_row + term.low * t.lanes;
        taps[to][threadIdx.x] = {at, term.high < t.in.channels ? term.middle : NOWHERE, term.low};
    }

    __device__ __forceinline__ void fetch_left() {
        const int element = term.middle * t.kernel.low + term.low;
        int at = weights + term.high * t.weight_channel + element * t.weight_element;
        const int live = term.high < t.in.channels ? rows : 0;
#pragma unroll
        for (int i = 0; i < LEFT; i++) {
            left[i] = i * LEFT_STEP < live ? t.weight[at] : 0.0f;
            at += LEFT_STEP * t.weight_row;
        }
        advance(term, t.tile_step, t.kernel);
    }

    // Four lanes of the input under an element of the kernel.
    __device__ __forceinline__ float4 element(const kernel_tap &e) const {
        int iy = y + e.y, ix = x + e.x;
        const float *from = column + e.at;
        if (SPREAD) {
            if (iy < 0 || ix < 0 || iy % t.spread_y || ix % t.spread_x) return zero_four();
            iy /= t.spread_y;
            ix /= t.spread_x;
            from += (ptrdiff_t)iy * t.in_row + ix * t.lanes;
        }
        if ((unsigned)iy >= (unsigned)t.in.height || (unsigned)ix >= (unsigned)t.in.width)
            return zero_four();
        return load_four(from);
    }

    __device__ __forceinline__ void fetch() {
        fetch_left();
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            right[i] = element(taps[turn][(int)threadIdx.x / FOURS + i * RIGHT_STEP]);
    }

    __device__ __forceinline__ void put(factor_tile<S> &tile) {
        const int thread = (int)threadIdx.x;
#pragma unroll
        for (int i = 0; i < LEFT; i++)
            tile.left[thread % S::DEPTH][thread / S::DEPTH + i * LEFT_STEP] = left[i];
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            store_four(&tile.right[thread / FOURS + i * RIGHT_STEP][4 * (thread % FOURS)],
                       right[i]);
        turn ^= 1;
        tell(turn);
    }
};

// Blocks of the same columns come one after another, to find the input in the cache.
template <typename S, bool SPREAD>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT) correlate(correlation t) {
    __shared__ kernel_tap taps[2][S::DEPTH];
    const size_t shard = (size_t)t.first + blockIdx.z;
    const int row_blocks = pieces(t.out.channels, S::ROWS);
    const int row = (int)blockIdx.x % row_blocks * S::ROWS;
    const int column = (int)blockIdx.x / row_blocks * S::COLUMNS;
    const float *from = t.from + shard * (size_t)t.in.channels * (size_t)t.in_plane;
    float *to = t.to + shard * (size_t)t.out.channels * (size_t)t.columns;

    const thread_place p = place_of_thread<S>();
    block_sums<S> sums;
    correlation_source<S, SPREAD> source(t, from, row, column, taps);
    __syncthreads();
    multiply<S>(source, pieces(t.terms, S::DEPTH), p, sums);
    if (p.slice > 0) return;
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int o = row + element_of(p.row, r, S::ROW_THREADS);
        if (o >= t.out.channels) continue;
        const float bias = t.bias ? t.bias[o] : 0.0f;
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
            const int n = column + element_of(p.column, c, S::COLUMN_THREADS);
            if (n >= t.columns) continue;
            const float *sum = sums.at[r] + c;
            store_four(to + (ptrdiff_t)o * t.columns + n,
                       make_float4(sum[0] + bias, sum[1] + bias, sum[2] + bias, sum[3] + bias));
        }
    }
}

// ---- Launching ----

static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};

template <typename S, bool SPREAD> static void launch(cudaStream_t s, const cut *c, correlation t) {
    const int blocks = pieces(t.out.channels, S::ROWS) * pieces(t.columns, S::COLUMNS);
    const dim3 grid((unsigned)blocks, 1, (unsigned)(c->end - c->first));
    t.tile_step = digits_of(S::DEPTH, t.kernel);
    LAUNCH((correlate<S, SPREAD>), grid, dim3(S::THREADS), s, t);
}

template <bool SPREAD>
static void launch_picked(cudaStream_t s, const cut *c, const correlation &t) {
    switch (pick_block(sizes, SHAPE_COUNT, t.out.channels, t.columns, PROCESSORS)) {
#define SHAPE_CASE(name, ...) \
    case BLOCK_##name: launch<block_##name, SPREAD>(s, c, t); break;
        SHAPES(SHAPE_CASE)
    }
}

static correlation correlation_of(const cut *c, const conv_task *t, shape in, shape out) {
    correlation r = {};
    r.in = in;
    r.out = out;
    r.lanes = c->lanes;
    r.first = c->first;
    r.step_y = r.step_x = r.spread_y = r.spread_x = 1;
    r.in_row = in.width * c->lanes;
    r.in_plane = in.height * r.in_row;
    r.columns = out.height * out.width * c->lanes;
    r.kernel = {t->kernel_h, t->kernel_w};
    r.terms = in.channels * t->kernel_h * t->kernel_w;
    r.weight = t->weight;
    return r;
}

void cuda_conv(cudaStream_t s, const cut *c, const conv_task *t) {
    correlation r = correlation_of(c, t, t->in, t->out);
    r.step_y = t->stride_y;
    r.step_x = t->stride_x;
    r.pad_y = t->pad_y;
    r.pad_x = t->pad_x;
    r.from = t->x;
    r.bias = t->bias;
    r.to = t->z;
    r.weight_row = r.terms;
    r.weight_channel = t->kernel_h * t->kernel_w;
    r.weight_element = 1;
    launch_picked<false>(s, c, r);
}

void cuda_conv_input(cudaStream_t s, const cut *c, const conv_task *t) {
    const int kernel = t->kernel_h * t->kernel_w;
    correlation r = correlation_of(c, t, t->out, t->in);
    r.spread_y = t->stride_y;
    r.spread_x = t->stride_x;
    r.pad_y = t->kernel_h - 1 - t->pad_y;
    r.pad_x = t->kernel_w - 1 - t->pad_x;
    r.from = t->z;
    r.to = t->dx;
    r.weight_first = kernel - 1;
    r.weight_row = kernel;
    r.weight_channel = t->in.channels * kernel;
    r.weight_element = -1;
    if (t->stride_y == 1 && t->stride_x == 1)
        launch_picked<false>(s, c, r);
    else
        launch_picked<true>(s, c, r);
}
