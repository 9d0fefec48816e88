// SPDX-License-Identifier: MIT
// conv_finish.cuh - operations on the sums of a correlation (conv.cu) while they are still in
// registers: this saves a pass over them, and a launch.
//
// A *finish* is a type that holds its own arguments, and
//
//     WINDOWS                   do the columns of a block lie in pooling windows?
//     finish<S>(block, p, sums) called by all threads of a block; those of slice 0 have the sums
//
// store_sums          z = sum + bias
// store_phase         the same without a bias, for some of the positions
// store_moments       the same, and the moments of every channel, for a batch norm
// store_gradient      the same without a bias, and the sums for the gradient through a batch norm
// store_norm_epilogue as store_moments, and the epilogue, of few elements
// store_epilogue      y = relu((sum + bias) · scale + shift); z is never written
// store_windows       as store_epilogue, and 2×2 max pooling
//
// With WINDOWS a column of the product is a (window, lane), and a block's columns are WINDOW parts,
// one for each element of the windows: see window_column.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_FINISH_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_FINISH_CUH

#include "compute/cuda/kernels/conv_product.cuh"
#include "compute/cuda/kernels/epilogue_window.cuh"
#include "compute/cuda/kernels/gradient_sums.cuh"
#include "compute/cuda/kernels/last_block.cuh"
#include "compute/cuda/kernels/norm.cuh"

// A block's position in the product of a shard: columns are (pixel, lane) or (window, lane).
struct product_block {
    int shard; // of the engine, or a part of its channels
    int part;  // which of them: cuda_conv_task.channel_parts
    int rows, columns, lanes;
    int row, column; // the first of this block
};

template <typename S, bool WINDOWS>
static __host__ __device__ __forceinline__ constexpr int columns_of_block() {
    return WINDOWS ? S::COLUMNS / WINDOW : S::COLUMNS;
}

// ---- Parts of them ----

static __device__ __forceinline__ float bias_of(const product_block &b, const float *bias,
                                                int row) {
    return bias ? bias[b.part * b.rows + row] : 0.0f;
}

// Writes a thread's part of a row to [shard][row][column].
template <typename S>
static __device__ __forceinline__ void store_row(const product_block &b, const thread_place &p,
                                                 int row, const float (&v)[S::THREAD_COLUMNS],
                                                 float *to) {
    to += ((ptrdiff_t)b.shard * b.rows + row) * b.columns;
#pragma unroll
    for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
        const int n = b.column + block_column<S>(p, c);
        if (n < b.columns) store_four(to + n, make_float4(v[c], v[c + 1], v[c + 2], v[c + 3]));
    }
}

// Positions of an output: rows of `width`. In pixels: the first; from one row to the next, and from
// one column; the whole output.
struct output_phase {
    int first, width, row, column, plane;
};

// As store_row, into these positions.
template <typename S>
static __device__ __forceinline__ void store_phase_row(const product_block &b,
                                                       const thread_place &p, int row,
                                                       const float (&v)[S::THREAD_COLUMNS],
                                                       const output_phase &phase, float *to) {
    to += ((ptrdiff_t)b.shard * b.rows + row) * ((ptrdiff_t)phase.plane * b.lanes);
#pragma unroll
    for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
        const int n = b.column + block_column<S>(p, c), pixel = n / b.lanes;
        const int at =
            phase.first + pixel / phase.width * phase.row + pixel % phase.width * phase.column;
        if (n < b.columns)
            store_four(to + (ptrdiff_t)at * b.lanes + n % b.lanes,
                       make_float4(v[c], v[c + 1], v[c + 2], v[c + 3]));
    }
}

struct store_phase {
    static constexpr bool WINDOWS = false;
    output_phase phase;
    float *to;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (p.slice > 0) return;
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
            const int row = b.row + block_row<S>(p, r);
            if (row < b.rows) store_phase_row<S>(b, p, row, sums.at[r], phase, to);
        }
    }
};

struct store_sums {
    static constexpr bool WINDOWS = false;
    const float *bias; // NULL: none, here and below
    float *to;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (p.slice > 0) return;
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
            const int row = b.row + block_row<S>(p, r);
            if (row >= b.rows) continue;
            const float add = bias_of(b, bias, row);
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c++) sums.at[r][c] += add;
            store_row<S>(b, p, row, sums.at[r], to);
        }
    }
};

// ---- Sums over rows ----

// Each block writes its part of the sums. The parts form bundles: the last block of a bundle adds
// its parts, and the last of these blocks adds the bundles, so that no block has many to read.

// Parts and counters that the blocks with sums of the same rows share.
struct shared_parts {
    double *parts;
    unsigned *counters;
    int bundle; // blocks
};

// About as many bundles as blocks per bundle, but one bundle if there are few blocks; a power of
// two.
static inline int bundle_size(int blocks) {
    int bundle = 64;
    while (bundle * bundle < blocks) bundle *= 2;
    return bundle;
}

// A block's part: the sums of its rows, including those past the last row.
template <typename S> struct block_part {
    double a[S::ROWS];
    double b[S::ROWS];
};

// Returns how many of a thread's i-th four columns, from the first on, have a sample; 0 or less:
// none.
template <typename S>
static __device__ __forceinline__ int live_lanes(const product_block &b, const thread_place &p,
                                                 int i, int samples) {
    const int n = b.column + block_column<S>(p, 4 * i);
    return n < b.columns ? samples - n % b.lanes : 0;
}

// Row sums from several threads each. They are added in pairs, neighbours first: in the order of
// gradient_sums.cuh.
template <typename S> struct row_store {
    static constexpr int FOURS = S::THREAD_COLUMNS / 4;
    static constexpr int ACROSS = S::COLUMN_THREADS / S::PATCH_COLUMNS; // patches
    static constexpr int READERS = S::THREADS / S::ROWS;
    static constexpr int WRITERS = FOURS * ACROSS;
    static constexpr int SETS = WRITERS > READERS ? WRITERS : READERS;
    static_assert((S::COLUMNS & (S::COLUMNS - 1)) == 0, "a block's columns are a subtree");
    two_sums of[SETS][S::ROWS];

    template <int Sets> __device__ __forceinline__ two_sums total(int row) const {
        static_assert((Sets & (Sets - 1)) == 0, "pairs");
        two_sums sum[Sets];
#pragma unroll
        for (int i = 0; i < Sets; i++) sum[i] = of[i][row];
#pragma unroll
        for (int step = 1; step < Sets; step *= 2) {
#pragma unroll
            for (int i = 0; i < Sets; i += 2 * step) sum[i] = add(sum[i], sum[i + step]);
        }
        return sum[0];
    }
};

// Returns the sums of each row of a block, in the thread of the row's number. `terms` holds the
// sums of a thread's i-th four columns in its r-th row.
template <typename S, typename Terms>
static __device__ __forceinline__ two_sums sum_rows(const thread_place &p, const Terms &terms,
                                                    row_store<S> &store) {
#pragma unroll(Terms::ROWS_AT_ONCE)
    for (int r = 0; r < S::THREAD_ROWS; r++) {
#pragma unroll
        for (int i = 0; i < S::THREAD_COLUMNS / 4; i++) {
            // Neighbours in a patch's row have the same row of the product.
            const two_sums sum = neighbours_sums<S::PATCH_COLUMNS>(terms.four(r, i));
            if (p.slice == 0 && p.column % S::PATCH_COLUMNS == 0)
                store.of[i * row_store<S>::ACROSS + p.column / S::PATCH_COLUMNS]
                        [block_row<S>(p, r)] = sum;
        }
    }
    __syncthreads();
    if ((int)threadIdx.x >= S::ROWS) return two_sums{0, 0};
    return store.template total<row_store<S>::WRITERS>((int)threadIdx.x);
}

// Returns the sums of `count` parts, `step` apart: each thread adds neighbouring parts, then these
// sums are added.
template <typename S>
static __device__ __forceinline__ two_sums add_parts(const block_part<S> *parts, int count,
                                                     int step, row_store<S> &store) {
    constexpr int READERS = row_store<S>::READERS;
    const int row = (int)threadIdx.x % S::ROWS, reader = (int)threadIdx.x / S::ROWS;
    int each = 1;
    while (each * READERS < count) each *= 2;
    const int behind = (reader + 1) * each, end = behind < count ? behind : count;
    tree<two_sums> along;
    along.leaves = 0;
    for (int i = reader * each; i < end; i += 4) {
        two_sums of[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const block_part<S> *part = parts + (ptrdiff_t)(i + k) * step;
            of[k] = i + k < end ? two_sums{__ldcg(part->a + row), __ldcg(part->b + row)}
                                : two_sums{0, 0};
        }
        tree_push(&along, add(add(of[0], of[1]), add(of[2], of[3])));
    }
    store.of[reader][row] = along.leaves > 0 ? tree_total(&along) : two_sums{0, 0};
    __syncthreads();
    return store.template total<READERS>(row);
}

template <typename S>
static __device__ __forceinline__ void leave(block_part<S> *part, two_sums sum) {
    if ((int)threadIdx.x >= S::ROWS) return;
    part->a[threadIdx.x] = sum.a;
    part->b[threadIdx.x] = sum.b;
}

// Turns the sums of a block's rows into those of all blocks with these rows; returns false in all
// blocks but the last. A bundle's sum replaces its first part.
template <typename S>
static __device__ __forceinline__ bool add_blocks(const product_block &b, const shared_parts &m,
                                                  two_sums *total, row_store<S> &store) {
    const int blocks = pieces(b.columns, S::COLUMNS), bundles = pieces(blocks, m.bundle);
    const int own = b.column / S::COLUMNS, first = own / m.bundle * m.bundle;
    const int members = blocks - first < m.bundle ? blocks - first : m.bundle;
    const size_t set =
        (size_t)b.shard * (size_t)pieces(b.rows, S::ROWS) + (size_t)(b.row / S::ROWS);
    block_part<S> *parts = reinterpret_cast<block_part<S> *>(m.parts) + set * (size_t)blocks;
    unsigned *counters = m.counters + set * (size_t)(bundles + 1);
    if (blocks == 1) return true;
    leave(parts + own, *total);
    if (!is_last_block(counters + own / m.bundle, (unsigned)members)) return false;
    *total = add_parts(parts + first, members, 1, store);
    if (bundles == 1) return true;
    leave(parts + first, *total);
    if (!is_last_block(counters + bundles, (unsigned)bundles)) return false;
    *total = add_parts(parts, bundles, m.bundle, store);
    return true;
}

// ---- Moments ----

// Σz and Σz² are in double, so they need not be centred on the mean. The square of a float is
// exact. If the mean is far larger than the deviation, Σz² - (Σz)²/n loses on the order of mean² ·
// 2^-53 per z; but z is rounded to 24 bits, which leaves an uncertainty of mean² · 2^-48 anyway.

// Sums over the lanes that have a sample.
template <typename S> struct moments_terms {
    static constexpr int ROWS_AT_ONCE = S::THREAD_ROWS; // registers cannot be indexed
    const block_sums<S> &sums;
    int live[S::THREAD_COLUMNS / 4];

    __device__ __forceinline__ moments_terms(const product_block &b, const thread_place &p,
                                             int samples, const block_sums<S> &z)
        : sums(z) {
#pragma unroll
        for (int i = 0; i < S::THREAD_COLUMNS / 4; i++) live[i] = live_lanes<S>(b, p, i, samples);
    }

    __device__ __forceinline__ two_sums four(int r, int i) const {
        two_sums sum = {0, 0};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const double z = k < live[i] ? (double)sums.at[r][4 * i + k] : 0.0;
            sum = two_sums{sum.a + z, fma(z, z, sum.b)};
        }
        return sum;
    }
};

struct store_moments {
    static constexpr bool WINDOWS = false;
    const float *bias;
    float *to;
    const int *count; // cut.count
    shared_parts blocks;
    norm_task norm;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        (void)finish_rows(b, p, sums);
    }

    // Returns false in all blocks of these rows but the last, which has made their moments.
    template <typename S>
    __device__ __forceinline__ bool finish_rows(const product_block &b, const thread_place &p,
                                                block_sums<S> &sums) const {
        const int channel = b.row + (int)threadIdx.x, samples = count[b.shard];
        store_sums{bias, to}.finish(b, p, sums);
        __shared__ row_store<S> store;
        two_sums total = sum_rows<S>(p, moments_terms<S>(b, p, samples, sums), store);
        if (!add_blocks<S>(b, blocks, &total, store)) return false;
        if ((int)threadIdx.x < S::ROWS && channel < b.rows)
            set_moments(norm, b.shard, channel,
                        moments_of(total, 0, samples * positions(norm.size)));
        return true;
    }
};

// ---- Sums of gradients ----

// The product is dy of an epilogue with a batch norm, and each thread has just written its part. It
// reads that again once its registers are free: large blocks have no registers to spare for the
// epilogue's data.
template <typename S, bool POOL> struct gradient_terms {
    static constexpr int ROWS_AT_ONCE = S::THREAD_COLUMNS > 4 ? 1 : 4; // as registers allow
    static constexpr int FOURS = S::THREAD_COLUMNS / 4;
    const product_block &b;
    const thread_place &p;
    const float *dy;
    const cuda_epilogue_task &t;
    int live[FOURS];
    int y[FOURS], z[FOURS]; // floats from a channel's start; z: of a window's first element

    __device__ __forceinline__ gradient_terms(const product_block &block, const thread_place &place,
                                              int samples, const float *written,
                                              const cuda_epilogue_task &epilogue)
        : b(block), p(place), dy(written), t(epilogue) {
#pragma unroll
        for (int i = 0; i < FOURS; i++) {
            live[i] = p.slice > 0 ? 0 : live_lanes<S>(b, p, i, samples);
            y[i] = b.column + block_column<S>(p, 4 * i);
            z[i] = POOL ? window_of(y[i]) : y[i];
        }
    }

    __device__ __forceinline__ int window_of(int column) const {
        const int pixel = column / b.lanes, width = t.size.width / 2;
        const int first = 2 * (pixel / width) * t.size.width + 2 * (pixel % width);
        return first * b.lanes + column % b.lanes;
    }

    __device__ __forceinline__ two_sums four(int r, int i) const {
        const int own = b.row + block_row<S>(p, r);
        const int channel = own < b.rows ? own : b.row, lanes = own < b.rows ? live[i] : 0;
        const size_t plane = (size_t)b.shard * (size_t)b.rows + (size_t)channel;
        const size_t pixels = (size_t)t.size.height * (size_t)t.size.width;
        const float *from = t.z + plane * pixels * (size_t)b.lanes + z[i];
        const size_t at = plane * (size_t)b.columns + (size_t)y[i];
        const float4 f = lanes > 0 ? load_four(dy + at) : zero_four();
        const reached to =
            POOL ? reached_in_window(t, b.lanes, lanes, from, t.argmax + at)
                 : reached_at(t, affine_of(t, b.shard, (unsigned)channel), lanes, from);
        const float of[LANE_ROUND] = {f.x, f.y, f.z, f.w};
        return gradient_sums(to, statistics_of(t, b.shard, (unsigned)channel), of);
    }
};

// Does the work of cuda_epilogue_sums while dy is written.
struct store_gradient {
    static constexpr bool WINDOWS = false;
    float *to;
    const int *count; // cut.count
    shared_parts blocks;
    cuda_epilogue_task epilogue;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        const int channel = b.row + (int)threadIdx.x, samples = count[b.shard];
        store_sums{NULL, to}.finish(b, p, sums);
        __shared__ row_store<S> store;
        two_sums total =
            epilogue.pool
                ? sum_rows<S>(p, gradient_terms<S, true>(b, p, samples, to, epilogue), store)
                : sum_rows<S>(p, gradient_terms<S, false>(b, p, samples, to, epilogue), store);
        if (!add_blocks<S>(b, blocks, &total, store)) return;
        if ((int)threadIdx.x < S::ROWS && channel < b.rows)
            set_gradient(epilogue, b.shard, channel, total, samples);
    }
};

// ---- Epilogues ----

static __device__ __forceinline__ float through(const cuda_epilogue_task &t, affine a, float z) {
    const float v = normalise(t, a, z);
    return passes(t, v) ? v : 0.0f;
}

// Run by the last block of its rows, for all of their columns: they should be few.
struct store_norm_epilogue {
    static constexpr bool WINDOWS = false;
    store_moments z;
    cuda_epilogue_task epilogue;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (!z.finish_rows(b, p, sums)) return;
        __syncthreads(); // scale and shift are written
        const int rest = b.rows - b.row, rows = rest < S::ROWS ? rest : S::ROWS;
        const int fours = b.columns / LANE_ROUND;
        for (int i = (int)threadIdx.x; i < rows * fours; i += S::THREADS) {
            const int row = b.row + i / fours;
            const ptrdiff_t at = ((ptrdiff_t)b.shard * b.rows + row) * b.columns +
                                 (ptrdiff_t)(i % fours) * LANE_ROUND;
            const affine a = affine_of(epilogue, b.shard, (unsigned)row);
            const float4 f = __ldcg(reinterpret_cast<const float4 *>(z.to + at));
            store_four(epilogue.y + at,
                       make_float4(through(epilogue, a, f.x), through(epilogue, a, f.y),
                                   through(epilogue, a, f.z), through(epilogue, a, f.w)));
        }
    }
};

struct store_epilogue {
    static constexpr bool WINDOWS = false;
    const float *bias;
    cuda_epilogue_task epilogue;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (p.slice > 0) return;
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
            const int row = b.row + block_row<S>(p, r);
            if (row >= b.rows) continue;
            const affine a = affine_of(epilogue, b.shard, (unsigned)row);
            const float add = bias_of(b, bias, row);
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c++)
                sums.at[r][c] = through(epilogue, a, sums.at[r][c] + add);
            store_row<S>(b, p, row, sums.at[r], epilogue.y);
        }
    }
};

// For a column of a block with WINDOWS: the element of its window, and its (window, lane).
struct window_column {
    int element, column;
};

template <typename S>
static __device__ __forceinline__ window_column window_column_of(int first, int own) {
    constexpr int PART = S::COLUMNS / WINDOW;
    return {own / PART, first + own % PART};
}

// Different threads compute the elements of a window: they exchange them in shared memory.
struct store_windows {
    static constexpr bool WINDOWS = true;
    const float *bias;
    cuda_epilogue_task epilogue;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        constexpr int FOURS = S::COLUMNS / WINDOW / LANE_ROUND; // windows of four lanes in a row
        __shared__ float all[S::ROWS][S::COLUMNS + 4];
        share(p, sums, all);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < S::ROWS * FOURS; i += S::THREADS) {
            const int row = i / FOURS, four = i % FOURS * LANE_ROUND;
            if (b.row + row < b.rows && b.column + four < b.columns)
                choose<S>(b, b.row + row, b.column + four, all[row] + four);
        }
    }

    template <typename S>
    static __device__ __forceinline__ void share(const thread_place &p, const block_sums<S> &sums,
                                                 float (*all)[S::COLUMNS + 4]) {
        if (p.slice > 0) return;
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
                const float *sum = sums.at[r] + c;
                store_four(all[block_row<S>(p, r)] + block_column<S>(p, c),
                           make_float4(sum[0], sum[1], sum[2], sum[3]));
            }
        }
    }

    // For four lanes of a window; its elements lie one part of the block's columns apart.
    template <typename S>
    __device__ __forceinline__ void choose(const product_block &b, int row, int column,
                                           const float *z) const {
        const affine a = affine_of(epilogue, b.shard, (unsigned)row);
        const float add = bias_of(b, bias, row);
        const size_t at =
            ((size_t)b.shard * (size_t)b.rows + (size_t)row) * (size_t)b.columns + (size_t)column;
        float v[LANE_ROUND][WINDOW], best[LANE_ROUND];
        uint32_t argmaxes = 0;
#pragma unroll
        for (int j = 0; j < WINDOW; j++) {
            const float4 f = load_four(z + j * (S::COLUMNS / WINDOW));
            v[0][j] = normalise(epilogue, a, f.x + add);
            v[1][j] = normalise(epilogue, a, f.y + add);
            v[2][j] = normalise(epilogue, a, f.z + add);
            v[3][j] = normalise(epilogue, a, f.w + add);
        }
#pragma unroll
        for (int k = 0; k < LANE_ROUND; k++) {
            const choice chosen = pick(epilogue, v[k]);
            best[k] = chosen.value;
            argmaxes |= chosen.which << (8 * k);
        }
        store_four(epilogue.y + at, make_float4(best[0], best[1], best[2], best[3]));
        *reinterpret_cast<uint32_t *>(epilogue.argmax + at) = argmaxes;
    }
};

#endif
