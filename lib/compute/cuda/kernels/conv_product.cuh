// SPDX-License-Identifier: MIT
// conv_product.cuh - blocked matrix products whose factors are built while they are loaded.
//
// A product is [rows][terms] · [terms][columns]; neither factor exists in memory in this form. A
// *source* supplies the elements:
//
//     fetch()       reads the thread's share of the next tile of both factors into registers;
//                   all threads synchronise between two calls
//     put(tile)     writes the fetched elements to shared memory
//
// so that global memory is read while the previous tile is multiplied. Everything else is here and
// is the same for all convolutions: tiles, registers, and the choice of sizes for a layer.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_PRODUCT_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_CONV_PRODUCT_CUH

#include <limits.h>

#include "compute/cuda/kernels/device.cuh"

// A thread block's work: ROWS × COLUMNS sums, DEPTH terms at a time. A thread holds THREAD_ROWS ×
// THREAD_COLUMNS of them in registers. With several SLICES, that many teams of threads each take a
// part of the terms of every tile: small layers have too few sums to fill a processor. RESIDENT
// blocks must fit a processor, which bounds the registers: 65,536 / RESIDENT / THREADS.
template <int Rows, int Columns, int Depth, int ThreadRows, int ThreadColumns, int Slices,
          int Resident>
struct block_shape {
    static constexpr int ROWS = Rows, COLUMNS = Columns, DEPTH = Depth;
    static constexpr int THREAD_ROWS = ThreadRows, THREAD_COLUMNS = ThreadColumns;
    static constexpr int SLICES = Slices, RESIDENT = Resident;
    static constexpr int ROW_THREADS = Rows / ThreadRows, COLUMN_THREADS = Columns / ThreadColumns;
    static constexpr int SLICE_THREADS = ROW_THREADS * COLUMN_THREADS; // threads of a slice
    static constexpr int THREADS = SLICE_THREADS * Slices;
    // Neighbouring threads form a patch of the block: they share both rows and columns.
    static constexpr int PATCH_ROWS = ROW_THREADS < 4 ? ROW_THREADS : 4;
    static constexpr int PATCH_COLUMNS =
        COLUMN_THREADS < 32 / PATCH_ROWS ? COLUMN_THREADS : 32 / PATCH_ROWS;
};

// A family of kernels lists its shapes once: SHAPES(SHAPE) is SHAPE(name, numbers …) for each.
#define SHAPE_TYPE(name, ...) typedef block_shape<__VA_ARGS__> block_##name;
#define SHAPE_NAME(name, ...) BLOCK_##name,
#define SHAPE_SIZE(name, ...) size_of_block<block_##name>(),

typedef struct block_size {
    int rows, columns;
    int reads; // elements read from shared memory by all threads for one term
} block_size;

template <typename S> static constexpr block_size size_of_block() {
    return {S::ROWS, S::COLUMNS, S::SLICE_THREADS * (S::THREAD_ROWS + S::THREAD_COLUMNS)};
}

// Costs for the choice of shapes, with PROCESSORS. The unit is a multiply-add.
enum {
    LOAD_COST = 8, // of an element of a factor, from memory to a tile: number of instructions
    READ_COST = 2  // of an element that a thread reads from a tile: a guess
};

// Number of blocks that keep the device busy: most have one warp for each of a processor's
// schedulers, and a single warp waits for its own instructions.
enum { FILL = 2 * PROCESSORS };

// Returns how many pieces of `size` cover n.
static __host__ __device__ __forceinline__ int pieces(int n, int size) {
    return (n + size - 1) / size;
}

static inline int blocks_of(block_size b, int rows, int columns) {
    return pieces(rows, b.rows) * pieces(columns, b.columns);
}

// Returns the size (of those sorted by area) with the least work for a product; of equals, the
// largest. For each term a block multiplies rows × columns and loads rows + columns, which its
// threads read from the tile. Fewer blocks than `fill` take as long as `fill` blocks.
static inline int pick_block(const block_size *sizes, int count, int rows, int columns, int fill) {
    long long least = 0;
    int best = -1;
    for (int i = 0; i < count; i++) {
        const block_size b = sizes[i];
        const int blocks = blocks_of(b, rows, columns);
        const int cost =
            b.rows * b.columns + READ_COST * b.reads + LOAD_COST * (b.rows + b.columns);
        const long long work = (long long)(blocks < fill ? fill : blocks) * cost;
        if (best < 0 || work <= least) {
            least = work;
            best = i;
        }
    }
    return best;
}

// ---- Positions in a sum ----

// (channel, kernel row, kernel column), or (row, column, lane).
typedef struct digits {
    int high, middle, low;
} digits;

// The number of values of the lower two digits.
typedef struct radix {
    int middle, low;
} radix;

static __host__ __device__ __forceinline__ digits digits_of(int n, radix r) {
    const int low = n % r.low, rest = n / r.low;
    return {rest / r.middle, rest % r.middle, low};
}

// d + step, without a division.
static __device__ __forceinline__ void advance(digits &d, const digits &step, const radix &r) {
    d.low += step.low;
    d.middle += step.middle;
    d.high += step.high;
    if (d.low >= r.low) {
        d.low -= r.low;
        d.middle++;
    }
    if (d.middle >= r.middle) {
        d.middle -= r.middle;
        d.high++;
    }
}

static __device__ __forceinline__ float4 load_four(const float *p) {
    return *reinterpret_cast<const float4 *>(p);
}

static __device__ __forceinline__ void store_four(float *p, float4 v) {
    *reinterpret_cast<float4 *>(p) = v;
}

static __device__ __forceinline__ float4 zero_four() {
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// ---- Multiplying ----

// The padding keeps rows aligned for float4, and spreads a column over banks.
template <typename S> struct alignas(16) factor_tile {
    float left[S::DEPTH][S::ROWS + 4];
    float right[S::DEPTH][S::COLUMNS + 4];
};

template <typename S> struct block_sums {
    float at[S::THREAD_ROWS][S::THREAD_COLUMNS]; // of one thread
};

// The position of a thread's sums in the block: see element_of.
struct thread_place {
    int slice, row, column;
};

template <typename S> static __device__ __forceinline__ thread_place place_of_thread() {
    constexpr int PATCH = S::PATCH_ROWS * S::PATCH_COLUMNS;
    constexpr int ACROSS = S::COLUMN_THREADS / S::PATCH_COLUMNS;
    const int thread = (int)threadIdx.x % S::SLICE_THREADS;
    const int patch = thread / PATCH, inside = thread % PATCH;
    return {(int)threadIdx.x / S::SLICE_THREADS,
            patch / ACROSS * S::PATCH_ROWS + inside / S::PATCH_COLUMNS,
            patch % ACROSS * S::PATCH_COLUMNS + inside % S::PATCH_COLUMNS};
}

// Returns the position in the block of a thread's i-th of N rows (columns). They come in runs of
// four, or of N if that is less, contiguous for neighbouring threads, so that these read different
// banks.
template <int N> static __device__ __forceinline__ int element_of(int thread, int i, int threads) {
    constexpr int RUN = N < 4 ? N : 4;
    return i / RUN * RUN * threads + RUN * thread + i % RUN;
}

template <typename S>
static __device__ __forceinline__ int block_row(const thread_place &p, int i) {
    return element_of<S::THREAD_ROWS>(p.row, i, S::ROW_THREADS);
}

template <typename S>
static __device__ __forceinline__ int block_column(const thread_place &p, int i) {
    return element_of<S::THREAD_COLUMNS>(p.column, i, S::COLUMN_THREADS);
}

template <int N>
static __device__ __forceinline__ void load_elements(const float *from, int thread, int threads,
                                                     float (&to)[N]) {
    if constexpr (N == 2) {
        const float2 v = *reinterpret_cast<const float2 *>(from + 2 * thread);
        to[0] = v.x;
        to[1] = v.y;
    } else {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float4 v = load_four(from + element_of<N>(thread, i, threads));
            to[i] = v.x;
            to[i + 1] = v.y;
            to[i + 2] = v.z;
            to[i + 3] = v.w;
        }
    }
}

template <typename S>
static __device__ __forceinline__ void multiply_tile(const factor_tile<S> &tile,
                                                     const thread_place &p, block_sums<S> &sums) {
    constexpr int TERMS = S::DEPTH / S::SLICES;
#pragma unroll
    for (int i = 0; i < TERMS; i++) {
        const int k = p.slice * TERMS + i;
        float left[S::THREAD_ROWS], right[S::THREAD_COLUMNS];
        load_elements(tile.left[k], p.row, S::ROW_THREADS, left);
        load_elements(tile.right[k], p.column, S::COLUMN_THREADS, right);
#pragma unroll
        for (int r = 0; r < S::THREAD_ROWS; r++) {
#pragma unroll
            for (int c = 0; c < S::THREAD_COLUMNS; c++)
                sums.at[r][c] = fmaf(left[r], right[c], sums.at[r][c]);
        }
    }
}

// Adds the sums of all slices by halves, into the first slice. After the first half a slice passes
// its sums through memory that no other slice has read, so one barrier per half is enough.
template <typename S>
static __device__ __forceinline__ void add_slices(float *store, const thread_place &p,
                                                  block_sums<S> &sums) {
    constexpr int SUMS = S::ROWS * S::COLUMNS, PLACES = S::SLICES / 2;
    static_assert((S::SLICES & (S::SLICES - 1)) == 0, "halves");
    static_assert(PLACES * SUMS * sizeof(float) <= 2 * sizeof(factor_tile<S>), "store");
    store += (int)threadIdx.x % S::SLICE_THREADS;
#pragma unroll
    for (int half = PLACES; half > 0; half /= 2) {
        if (p.slice >= half && p.slice < 2 * half) {
            float *to = store + p.slice % PLACES * SUMS;
#pragma unroll
            for (int i = 0; i < S::THREAD_ROWS * S::THREAD_COLUMNS; i++)
                to[i * S::SLICE_THREADS] = sums.at[i / S::THREAD_COLUMNS][i % S::THREAD_COLUMNS];
        }
        __syncthreads();
        if (p.slice < half) {
            const float *from = store + (p.slice + half) % PLACES * SUMS;
#pragma unroll
            for (int i = 0; i < S::THREAD_ROWS * S::THREAD_COLUMNS; i++)
                sums.at[i / S::THREAD_COLUMNS][i % S::THREAD_COLUMNS] += from[i * S::SLICE_THREADS];
        }
    }
}

template <typename S> static __device__ __forceinline__ void clear_sums(block_sums<S> &sums) {
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c++) sums.at[r][c] = 0.0f;
    }
}

// Adds `tiles` tiles of terms to the block's sums. They are complete in the threads of slice 0. All
// threads of the block must call it; they synchronise before another call.
template <typename S, typename Source>
static __device__ __forceinline__ void multiply(Source &source, int tiles, const thread_place &p,
                                                block_sums<S> &sums) {
    __shared__ factor_tile<S> tile[2];
    source.fetch();
    source.put(tile[0]);
    __syncthreads();
    // The barrier that a tile needs anyway is between fetch() and the arithmetic: no compiler moves
    // the loads across it, after the arithmetic that should hide them. There is no branch either:
    // the last tile follows the loop.
    for (int i = 0; i < tiles - 1; i++) {
        source.fetch();
        __syncthreads();
        multiply_tile<S>(tile[i % 2], p, sums);
        source.put(tile[(i + 1) % 2]);
    }
    __syncthreads();
    multiply_tile<S>(tile[(tiles - 1) % 2], p, sums);
    if constexpr (S::SLICES > 1) {
        __syncthreads(); // all threads have read the tiles
        add_slices<S>(&tile[0].left[0][0], p, sums);
    }
}

#endif
