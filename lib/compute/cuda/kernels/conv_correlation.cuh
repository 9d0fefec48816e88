// SPDX-License-Identifier: MIT
// conv_correlation.cuh - convolution forward and input gradient: one correlation.
//
// As a matrix product: rows are output channels, columns (pixel, lane), terms (channel, kernel row,
// kernel column). The left factor is the weights, the right factor the input under the kernel.
//
// The input gradient correlates dz with the flipped weights, with the channels' roles exchanged.
// Both are index arithmetic: `weight_*` locate a weight. With a stride there is one correlation for
// each *phase*: for the positions of the input, stride by stride, that meet the same elements of
// the kernel.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_CORRELATION_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_CORRELATION_CUH

#include "compute/cuda/kernels/conv_finish.cuh"

// A channel of one shard has fewer than 2^31 floats; so has a weight.

typedef struct correlation {
    shape in, out;
    int lanes;
    int first; // shard, or part: see product_block
    int channel_parts;
    int step_y, step_x;   // input rows from one output row to the next
    int pad_y, pad_x;     // may be negative
    int in_row, in_plane; // floats of the input
    int columns, terms;   // of the product; columns as in product_block
    const float *from, *weight;
    radix kernel; // rows, columns
    // Floats from one weight to the next; row and channel: of the product, y and x: of the kernel.
    int weight_first, weight_row, weight_channel, weight_y, weight_x;
    int weight_part;
    digits tile_step; // DEPTH terms
} correlation;

// A term of the right factor: an element of the kernel in a channel of the input.
struct alignas(16) kernel_tap {
    ptrdiff_t at; // floats from the input under the kernel's first element, in channel 0
    int y, x;     // in the kernel
};

// Each thread follows one term of the left factor from tile to tile. All threads need these terms
// for the right factor: each thread publishes its own in `taps`, one tile ahead.
template <typename S, bool WINDOWS> struct correlation_source {
    static constexpr int FOURS = S::COLUMNS / 4; // threads for a row of the right tile
    static constexpr int LEFT_STEP = S::THREADS / S::DEPTH, LEFT = S::ROWS / LEFT_STEP;
    static constexpr int RIGHT_STEP = S::THREADS / FOURS, RIGHT = S::DEPTH / RIGHT_STEP;
    static_assert(LEFT * LEFT_STEP == S::ROWS && RIGHT * RIGHT_STEP == S::DEPTH, "shares");

    const correlation &t;
    kernel_tap (*taps)[S::DEPTH];
    int turn;            // index of the next tile's taps
    digits term;         // of the left factor
    int weights;         // index of the first row's weights that this thread loads
    int rows;            // number that exist from there on
    int y, x;            // of the input under the kernel's first element
    const float *column; // that element, in channel 0
    float left[LEFT];
    float4 right[RIGHT];

    // All threads must synchronise before the first fetch.
    __device__ __forceinline__ correlation_source(const correlation &task, const float *from,
                                                  int part, int row, int first_column,
                                                  kernel_tap (*shared_taps)[S::DEPTH])
        : t(task), taps(shared_taps), turn(0) {
        const int thread = (int)threadIdx.x;
        term = digits_of(thread % S::DEPTH, t.kernel);
        row += thread / S::DEPTH;
        rows = t.out.channels - row;
        weights = t.weight_first + part * t.weight_part + row * t.weight_row;

        place_column(from, first_column, 4 * (thread % FOURS));
        tell(0);
    }

    // Places the first of the four columns that this thread loads, number `own` in the block.
    __device__ __forceinline__ void place_column(const float *from, int first, int own) {
        const window_column w =
            WINDOWS ? window_column_of<S>(first, own) : window_column{0, first + own};
        const int size = WINDOWS ? 2 : 1, width = t.out.width / size, pixel = w.column / t.lanes;
        y = (pixel / width * size + w.element / 2) * t.step_y - t.pad_y;
        x = (pixel % width * size + w.element % 2) * t.step_x - t.pad_x;
        column = from + w.column % t.lanes + (ptrdiff_t)y * t.in_row + x * t.lanes;
        if (w.column >= t.columns) y = NOWHERE;
    }

    __device__ __forceinline__ void tell(int to) {
        if ((int)threadIdx.x >= S::DEPTH) return;
        kernel_tap &own = taps[to][threadIdx.x];
        own.at = (ptrdiff_t)term.high * t.in_plane + term.middle * t.in_row + term.low * t.lanes;
        own.y = term.high < t.in.channels ? term.middle : NOWHERE;
        own.x = term.low;
    }

    __device__ __forceinline__ void fetch_left() {
        int at = weights + term.high * t.weight_channel + term.middle * t.weight_y +
                 term.low * t.weight_x;
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
        if ((unsigned)(y + e.y) >= (unsigned)t.in.height ||
            (unsigned)(x + e.x) >= (unsigned)t.in.width)
            return zero_four();
        return load_four(column + e.at);
    }

    __device__ __forceinline__ void fetch() {
        fetch_left();
#pragma unroll
        for (int i = 0; i < RIGHT; i++)
            right[i] = element(taps[turn][(int)threadIdx.x / FOURS + i * RIGHT_STEP]);
        turn ^= 1;
        tell(turn);
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
    }
};

// Returns the block of this thread. Blocks of the same columns are adjacent, so that they find the
// input in the cache.
template <typename S, bool WINDOWS>
static __device__ __forceinline__ product_block block_of(const correlation &t) {
    const int row_blocks = pieces(t.out.channels, S::ROWS);
    product_block b;
    b.shard = t.first + (int)blockIdx.z;
    b.part = (int)blockIdx.z % t.channel_parts;
    b.rows = t.out.channels;
    b.columns = t.columns;
    b.lanes = t.lanes;
    b.row = (int)blockIdx.x % row_blocks * S::ROWS;
    b.column = (int)blockIdx.x / row_blocks * columns_of_block<S, WINDOWS>();
    return b;
}

// ---- The two directions ----

static inline correlation correlation_of(int lanes, int first, const cuda_conv_task *t, shape in,
                                         shape out) {
    correlation r = {};
    r.in = in;
    r.out = out;
    r.lanes = lanes;
    r.first = first * t->channel_parts;
    r.channel_parts = t->channel_parts;
    r.step_y = r.step_x = 1;
    r.in_row = in.width * lanes;
    r.in_plane = in.height * r.in_row;
    r.columns = out.height * out.width * lanes;
    r.kernel = {t->kernel_h, t->kernel_w};
    r.terms = in.channels * t->kernel_h * t->kernel_w;
    r.weight = t->weight;
    r.weight_part = out.channels * r.terms;
    return r;
}

static inline correlation forward_of(int lanes, int first, const cuda_conv_task *t) {
    correlation r = correlation_of(lanes, first, t, t->in, t->out);
    r.step_y = t->stride_y;
    r.step_x = t->stride_x;
    r.pad_y = t->pad_y;
    r.pad_x = t->pad_x;
    r.from = t->x;
    r.weight_row = r.terms;
    r.weight_channel = t->kernel_h * t->kernel_w;
    r.weight_y = t->kernel_w;
    r.weight_x = 1;
    return r;
}

// Of a convolution of stride 1.
static inline correlation input_of(int lanes, int first, const cuda_conv_task *t) {
    const int kernel = t->kernel_h * t->kernel_w;
    correlation r = correlation_of(lanes, first, t, t->out, t->in);
    r.pad_y = t->kernel_h - 1 - t->pad_y;
    r.pad_x = t->kernel_w - 1 - t->pad_x;
    r.from = t->z;
    r.weight_first = kernel - 1;
    r.weight_row = kernel;
    r.weight_channel = t->in.channels * kernel;
    r.weight_y = -t->kernel_w;
    r.weight_x = -1;
    return r;
}

static inline bool has_phases(const cuda_conv_task *t) {
    return t->stride_y > 1 || t->stride_x > 1;
}

// Along one axis: `size` positions from `position` on, stride by stride, which meet `kernel`
// elements of the kernel from `element` on, likewise.
struct phase_axis {
    int size, element, kernel, pad;
};

static inline phase_axis axis_of(int position, int size, int stride, int kernel, int pad) {
    const int flipped = kernel - 1 - pad; // the padding in front of the correlated dz
    phase_axis a;
    a.size = size > position ? (size - position - 1) / stride + 1 : 0;
    a.element = ((flipped - position) % stride + stride) % stride;
    a.kernel = kernel > a.element ? (kernel - a.element - 1) / stride + 1 : 0;
    a.pad = (flipped - position - a.element) / stride;
    return a;
}

// The phase that begins at row y and column x: a correlation of it, and where it is in the input.
static inline correlation phase_of(int lanes, int first, const cuda_conv_task *t, int y, int x,
                                   output_phase *to) {
    const phase_axis v = axis_of(y, t->in.height, t->stride_y, t->kernel_h, t->pad_y);
    const phase_axis h = axis_of(x, t->in.width, t->stride_x, t->kernel_w, t->pad_x);
    correlation r = input_of(lanes, first, t);
    *to = {y * t->in.width + x, h.size, t->stride_y * t->in.width, t->stride_x,
           t->in.height * t->in.width};
    r.out.height = v.size;
    r.out.width = h.size;
    r.columns = v.size * h.size * lanes;
    r.kernel = {v.kernel, h.kernel};
    r.terms = r.in.channels * v.kernel * h.kernel;
    r.pad_y = v.pad;
    r.pad_x = h.pad;
    r.weight_first += v.element * r.weight_y + h.element * r.weight_x;
    r.weight_y *= t->stride_y;
    r.weight_x *= t->stride_x;
    if (r.terms > 0) return r;
    // No element: the gradient is a term of zero, of a channel that does not exist.
    r.in.channels = 0;
    r.kernel = {1, 1};
    r.terms = 1;
    return r;
}

// Returns the shards of a cut, or all of their parts.
static inline unsigned parts_of(const cut *c, const correlation &t) {
    return (unsigned)((c->end - c->first) * t.channel_parts);
}

#endif
