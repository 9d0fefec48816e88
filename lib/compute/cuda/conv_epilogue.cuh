// conv_epilogue.cuh - what a correlation (conv.cu) does with its sums before they leave the
// processor: a pass over them less, and a launch.
//
// An *epilogue* is a type that has what it needs, and
//
//     WINDOWS                   do the columns of a block lie in pooling windows?
//     finish<S>(block, p, sums) called by all threads of a block; those of slice 0 have the sums
//
// store_sums      z = sum + bias
// store_moments   the same, and the moments of every channel, for a batch norm
// store_norm_tail the same, and the tail, of few elements
// store_tail      y = relu((sum + bias) · scale + shift); z is never written
// store_windows   the same, and 2×2 max pooling
//
// With WINDOWS a column of the product is a (window, lane), and the columns of a block are WINDOW
// parts, one for each element of the windows: see window_column.
#ifndef LOCKSTEP_COMPUTE_CUDA_CONV_EPILOGUE_CUH
#define LOCKSTEP_COMPUTE_CUDA_CONV_EPILOGUE_CUH

#include "compute/cuda/conv_product.cuh"
#include "compute/cuda/last_block.cuh"
#include "compute/cuda/norm.cuh"
#include "compute/cuda/tail.cuh"

// Where a block is in the product of a shard: columns are (pixel, lane) or (window, lane).
struct product_block {
    int shard; // of the engine
    int rows, columns, lanes;
    int row, column; // the first of this block
};

template <typename S, bool WINDOWS>
static __host__ __device__ __forceinline__ constexpr int columns_of_block() {
    return WINDOWS ? S::COLUMNS / WINDOW : S::COLUMNS;
}

// ---- What epilogues are made of ----

static __device__ __forceinline__ float bias_of(const float *bias, int row) {
    return bias ? bias[row] : 0.0f;
}

// A thread's part of a row to [shard][row][column].
template <typename S>
static __device__ __forceinline__ void store_row(const product_block &b, const thread_place &p,
                                                 int row, const float (&v)[S::THREAD_COLUMNS],
                                                 float *to) {
    to += ((ptrdiff_t)b.shard * b.rows + row) * b.columns;
#pragma unroll
    for (int c = 0; c < S::THREAD_COLUMNS; c += 4) {
        const int n = b.column + element_of(p.column, c, S::COLUMN_THREADS);
        if (n < b.columns) store_four(to + n, make_float4(v[c], v[c + 1], v[c + 2], v[c + 3]));
    }
}

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
            const int row = b.row + element_of(p.row, r, S::ROW_THREADS);
            if (row >= b.rows) continue;
            const float add = bias_of(bias, row);
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c++) sums.at[r][c] += add;
            store_row<S>(b, p, row, sums.at[r], to);
        }
    }
};

// ---- Moments ----

// Σz and Σz² in double: then they need not be taken around the mean. The square of a float is
// exact, and where the mean is far above the deviation, Σz² - (Σz)²/n loses of the order of mean² ·
// 2^-53 for each z, which, being rounded to 24 bits, is not known better than to mean² · 2^-48
// anyway.
//
// Each block leaves its part of them. The parts form groups: the last block of a group adds its
// parts, and the last of these blocks the groups, so that none has many to read.

// What a block leaves: the sums of its rows. Those behind the last row are there too.
template <typename S> struct moments_part { double a[S::ROWS], b[S::ROWS]; };

// The sums of each row of a block over the lanes that have a sample, in the thread of that number.
template <typename S>
static __device__ __forceinline__ two_sums sum_rows(const product_block &b, const thread_place &p,
                                                    int samples, const block_sums<S> &sums) {
    constexpr int ACROSS = S::COLUMN_THREADS / S::PATCH_COLUMNS;
    __shared__ two_sums of_patch[ACROSS][S::ROWS];
    int live[S::THREAD_COLUMNS / 4];
#pragma unroll
    for (int i = 0; i < S::THREAD_COLUMNS / 4; i++) {
        const int n = b.column + element_of(p.column, 4 * i, S::COLUMN_THREADS);
        live[i] = n < b.columns ? samples - n % b.lanes : 0;
    }
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        two_sums row = {0, 0};
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c++) {
            const double z = c % 4 < live[c / 4] ? (double)sums.at[r][c] : 0.0;
            row = two_sums{row.a + z, fma(z, z, row.b)};
        }
        // Neighbours in a patch's row have the same row of the product.
#pragma unroll
        for (int distance = S::PATCH_COLUMNS / 2; distance > 0; distance /= 2)
            row = add(row, two_sums{__shfl_xor_sync(ALL_LANES, row.a, distance),
                                    __shfl_xor_sync(ALL_LANES, row.b, distance)});
        if (p.slice == 0 && p.column % S::PATCH_COLUMNS == 0)
            of_patch[p.column / S::PATCH_COLUMNS][element_of(p.row, r, S::ROW_THREADS)] = row;
    }
    __syncthreads();
    two_sums row = {0, 0};
    if ((int)threadIdx.x < S::ROWS) {
        for (int i = 0; i < ACROSS; i++) row = add(row, of_patch[i][threadIdx.x]);
    }
    return row;
}

// The sums of `count` parts, `step` apart, in order: every READERS-th by one thread, then these.
template <typename S>
static __device__ __forceinline__ two_sums add_parts(const moments_part<S> *parts, int count,
                                                     int step) {
    constexpr int READERS = S::THREADS / S::ROWS;
    __shared__ two_sums of_reader[READERS][S::ROWS];
    const int row = (int)threadIdx.x % S::ROWS, reader = (int)threadIdx.x / S::ROWS;
    two_sums sum = {0, 0};
#pragma unroll 4
    for (int i = reader; i < count; i += READERS) {
        const moments_part<S> *part = parts + (ptrdiff_t)i * step;
        sum = add(sum, two_sums{__ldcg(part->a + row), __ldcg(part->b + row)});
    }
    of_reader[reader][row] = sum;
    __syncthreads();
    sum = of_reader[0][row];
#pragma unroll
    for (int i = 1; i < READERS; i++) sum = add(sum, of_reader[i][row]);
    return sum;
}

struct store_moments {
    static constexpr bool WINDOWS = false;
    const float *bias;
    float *to;
    const int *count; // cut.count
    int group;        // blocks
    norm_task norm;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        (void)finish_rows(b, p, sums);
    }

    // False in all blocks of these rows but the last, which has made their moments.
    template <typename S>
    __device__ __forceinline__ bool finish_rows(const product_block &b, const thread_place &p,
                                                block_sums<S> &sums) const {
        const int channel = b.row + (int)threadIdx.x, samples = count[b.shard];
        store_sums{bias, to}.finish(b, p, sums);
        two_sums total = sum_rows(b, p, samples, sums);
        if (!add_blocks<S>(b, &total)) return false;
        if ((int)threadIdx.x < S::ROWS && channel < b.rows)
            set_moments(norm, b.shard, channel,
                        moments_of(total, 0, samples * positions(norm.size)));
        return true;
    }

    // From the sums of a block's rows to those of all blocks of these rows; false in all blocks but
    // the last. A group's sum takes the place of its first part.
    template <typename S>
    __device__ __forceinline__ bool add_blocks(const product_block &b, two_sums *total) const {
        const int blocks = pieces(b.columns, S::COLUMNS), groups = pieces(blocks, group);
        const int own = b.column / S::COLUMNS, first = own / group * group;
        const int members = blocks - first < group ? blocks - first : group;
        const size_t set =
            (size_t)b.shard * (size_t)pieces(b.rows, S::ROWS) + (size_t)(b.row / S::ROWS);
        moments_part<S> *parts =
            reinterpret_cast<moments_part<S> *>(norm.parts) + set * (size_t)blocks;
        unsigned *counters = norm.counters + set * (size_t)(groups + 1);
        if (blocks == 1) return true;
        leave(parts + own, *total);
        if (!is_last_block(counters + own / group, (unsigned)members)) return false;
        *total = add_parts(parts + first, members, 1);
        if (groups == 1) return true;
        leave(parts + first, *total);
        if (!is_last_block(counters + groups, (unsigned)groups)) return false;
        *total = add_parts(parts, groups, group);
        return true;
    }

    template <typename S>
    static __device__ __forceinline__ void leave(moments_part<S> *part, two_sums sum) {
        if ((int)threadIdx.x >= S::ROWS) return;
        part->a[threadIdx.x] = sum.a;
        part->b[threadIdx.x] = sum.b;
    }
};

// As many groups as blocks of a group, but for a few blocks one group.
static inline int moments_group(int blocks) {
    int group = 64;
    while (group * group < blocks) group++;
    return group;
}

// ---- Tails ----

static __device__ __forceinline__ float through(const tail_task &t, affine a, float z) {
    const float v = normalise(t, a, z);
    return passes(t, v) ? v : 0.0f;
}

// By the last block of its rows, which then has all of their columns: they should be few.
struct store_norm_tail {
    static constexpr bool WINDOWS = false;
    store_moments z;
    tail_task tail;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (!z.finish_rows(b, p, sums)) return;
        __syncthreads(); // scale and shift are there
        const int rest = b.rows - b.row, rows = rest < S::ROWS ? rest : S::ROWS;
        const int fours = b.columns / LANE_ROUND;
        for (int i = (int)threadIdx.x; i < rows * fours; i += S::THREADS) {
            const int row = b.row + i / fours;
            const ptrdiff_t at = ((ptrdiff_t)b.shard * b.rows + row) * b.columns +
                                 (ptrdiff_t)(i % fours) * LANE_ROUND;
            const affine a = affine_of(tail, b.shard, (unsigned)row);
            const float4 f = __ldcg(reinterpret_cast<const float4 *>(z.to + at));
            store_four(tail.y + at, make_float4(through(tail, a, f.x), through(tail, a, f.y),
                                                through(tail, a, f.z), through(tail, a, f.w)));
        }
    }
};

struct store_tail {
    static constexpr bool WINDOWS = false;
    const float *bias;
    tail_task tail;

    template <typename S>
    __device__ __forceinline__ void finish(const product_block &b, const thread_place &p,
                                           block_sums<S> &sums) const {
        if (p.slice > 0) return;
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
            const int row = b.row + element_of(p.row, r, S::ROW_THREADS);
            if (row >= b.rows) continue;
            const affine a = affine_of(tail, b.shard, (unsigned)row);
            const float add = bias_of(bias, row);
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c++)
                sums.at[r][c] = through(tail, a, sums.at[r][c] + add);
            store_row<S>(b, p, row, sums.at[r], tail.y);
        }
    }
};

// Of a column of a block with WINDOWS: which element of its window, and which (window, lane).
struct window_column {
    int element, column;
};

template <typename S>
static __device__ __forceinline__ window_column window_column_of(int first, int own) {
    constexpr int PART = S::COLUMNS / WINDOW;
    return {own / PART, first + own % PART};
}

// The elements of a window are sums of different threads: they meet in shared memory.
struct store_windows {
    static constexpr bool WINDOWS = true;
    const float *bias;
    tail_task tail;

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
                store_four(all[element_of(p.row, r, S::ROW_THREADS)] +
                               element_of(p.column, c, S::COLUMN_THREADS),
                           make_float4(sum[0], sum[1], sum[2], sum[3]));
            }
        }
    }

    // Of four lanes of a window, whose elements are a part of the block's columns apart.
    template <typename S>
    __device__ __forceinline__ void choose(const product_block &b, int row, int column,
                                           const float *z) const {
        const affine a = affine_of(tail, b.shard, (unsigned)row);
        const float add = bias_of(bias, row);
        const size_t at =
            ((size_t)b.shard * (size_t)b.rows + (size_t)row) * (size_t)b.columns + (size_t)column;
        float v[LANE_ROUND][WINDOW], best[LANE_ROUND];
        uint32_t winners = 0;
#pragma unroll
        for (int j = 0; j < WINDOW; j++) {
            const float4 f = load_four(z + j * (S::COLUMNS / WINDOW));
            v[0][j] = normalise(tail, a, f.x + add);
            v[1][j] = normalise(tail, a, f.y + add);
            v[2][j] = normalise(tail, a, f.z + add);
            v[3][j] = normalise(tail, a, f.w + add);
        }
#pragma unroll
        for (int k = 0; k < LANE_ROUND; k++) {
            const choice chosen = pick(tail, v[k]);
            best[k] = chosen.value;
            winners |= chosen.which << (8 * k);
        }
        store_four(tail.y + at, make_float4(best[0], best[1], best[2], best[3]));
        *reinterpret_cast<uint32_t *>(tail.winner + at) = winners;
    }
};

#endif
