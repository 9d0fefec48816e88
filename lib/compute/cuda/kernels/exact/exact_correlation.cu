// SPDX-License-Identifier: MIT
// The products of conv.cu, but one thread adds all terms of a sum, beginning with the bias.
#include "compute/cuda/kernels/exact/exact_correlation.cuh"

#include "compute/layer_sums.h"

// Without slices, so that no sum is cut. Otherwise as in conv.cu.
#define SHAPES(SHAPE)                      \
    SHAPE(8x64, 8, 64, 16, 4, 4, 1, 12)    \
    SHAPE(32x16, 32, 16, 16, 4, 4, 1, 12)  \
    SHAPE(16x64, 16, 64, 16, 4, 4, 1, 8)   \
    SHAPE(32x64, 32, 64, 16, 4, 4, 1, 4)   \
    SHAPE(64x64, 64, 64, 16, 8, 4, 1, 4)   \
    SHAPE(64x128, 64, 128, 16, 8, 8, 1, 4) \
    SHAPE(128x128, 128, 128, 16, 8, 8, 1, 2)
SHAPES(SHAPE_TYPE)
// The first two again, for so few blocks that each waits for memory alone on its processor: with
// twice the threads, and twice the terms under way.
#define FEW_SHAPES(SHAPE)                  \
    SHAPE(few_8x64, 8, 64, 32, 2, 4, 1, 8) \
    SHAPE(few_32x16, 32, 16, 32, 2, 4, 1, 8)
FEW_SHAPES(SHAPE_TYPE)
enum { SHAPES(SHAPE_NAME) SHAPE_COUNT, BEFORE_FEW = SHAPE_COUNT - 1, FEW_SHAPES(SHAPE_NAME) };
enum { PART_SHAPES = BLOCK_64x64 }; // larger blocks have no registers left for a loop over parts

template <typename S>
static __device__ __forceinline__ void begin_sums(const ordered_correlation &t,
                                                  const product_block &b, const thread_place &p,
                                                  block_sums<S> &sums) {
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int row = b.row + block_row<S>(p, r);
        const float first = row < b.rows ? bias_of(b, t.bias, row) : 0.0f;
#pragma unroll
        for (int c = 0; c < S::THREAD_COLUMNS; c++) sums.at[r][c] = first;
    }
}

// Adds the sums to those of the parts before, which the same thread has written.
template <typename S>
static __device__ __forceinline__ void add_part(const product_block &b, const thread_place &p,
                                                int row, float *sums, const float *before) {
    before += ((ptrdiff_t)b.shard * b.rows + row) * b.columns;
#pragma unroll
    for (int c = 0; c < S::THREAD_COLUMNS; c++) {
        const int n = b.column + block_column<S>(p, c);
        if (n < b.columns) sums[c] = before[n] + sums[c];
    }
}

template <typename S, bool PHASE>
static __device__ __forceinline__ void end_sums(const ordered_correlation &t,
                                                const product_block &b, const thread_place &p,
                                                bool first, block_sums<S> &sums) {
#pragma unroll
    for (int r = 0; r < S::THREAD_ROWS; r++) {
        const int row = b.row + block_row<S>(p, r);
        if (row >= b.rows) continue;
        if (!first) add_part<S>(b, p, row, sums.at[r], t.to);
        if (PHASE)
            store_phase_row<S>(b, p, row, sums.at[r], t.phase, t.to);
        else
            store_row<S>(b, p, row, sums.at[r], t.to);
    }
}

// The sums of most layers have one part.
template <typename S, bool PHASE, bool PARTS>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT)
    correlate_in_order(ordered_correlation t) {
    __shared__ kernel_tap taps[2][S::DEPTH];
    static_assert(S::SLICES == 1 && LONG_SUM_FEATURES_PART % S::DEPTH == 0, "order");
    const correlation &product = t.product;
    const product_block b = block_of<S, false>(product);
    const float *from =
        product.from + (size_t)b.shard * (size_t)product.in.channels * (size_t)product.in_plane;
    const thread_place p = place_of_thread<S>();
    block_sums<S> sums;
    correlation_source<S, false> source(product, from, b.part, b.row, b.column, taps);
    wait_for_kernels_before();
    __syncthreads();
    begin_sums(t, b, p, sums);
    multiply<S>(source, pieces(PARTS ? t.part : product.terms, S::DEPTH), p, sums);
    end_sums<S, PHASE>(t, b, p, true, sums);
    for (int first = t.part; PARTS && first < product.terms; first += t.part) {
        const int left = product.terms - first, terms = left < t.part ? left : t.part;
        clear_sums(sums);
        __syncthreads();
        multiply<S>(source, pieces(terms, S::DEPTH), p, sums);
        end_sums<S, PHASE>(t, b, p, false, sums);
    }
}

// ---- Launching ----

static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};

template <typename S, bool PHASE, bool PARTS>
static void launch(launch_stream s, const cut *c, ordered_correlation t) {
    const correlation &p = t.product;
    const int blocks = pieces(p.out.channels, S::ROWS) * pieces(p.columns, S::COLUMNS);
    const dim3 grid((unsigned)blocks, 1, parts_of(c, p));
    if (grid.x == 0 || grid.z == 0) return;
    t.product.tile_step = digits_of(S::DEPTH, p.kernel);
    LAUNCH((correlate_in_order<S, PHASE, PARTS>), grid, dim3(S::THREADS), s, t);
}

static int picked_shape(const cut *c, const correlation &t, int shapes) {
    const int parts = (int)parts_of(c, t);
    const int fill = parts > 0 && parts < FILL ? FILL / parts : 1;
    const int which = pick_block(sizes, shapes, t.out.channels, t.columns, fill);
    const int blocks = blocks_of(sizes[which], t.out.channels, t.columns);
    return which <= BLOCK_32x16 && blocks <= fill ? SHAPE_COUNT + which : which;
}

template <bool PHASE, bool PARTS>
static void launch_picked(launch_stream s, const cut *c, const ordered_correlation &t) {
    switch (picked_shape(c, t.product, PARTS ? (int)PART_SHAPES : (int)SHAPE_COUNT)) {
#define PARTS_CASE(name, parts)                      \
    case BLOCK_##name:                               \
        launch<block_##name, PHASE, parts>(s, c, t); \
        break;
#define SHAPE_CASE(name, ...) PARTS_CASE(name, (PARTS && (int)BLOCK_##name < (int)PART_SHAPES))
#define FEW_CASE(name, ...)   PARTS_CASE(name, PARTS)
        SHAPES(SHAPE_CASE)
        FEW_SHAPES(FEW_CASE)
    }
}

void cuda_exact_correlate(launch_stream s, const cut *c, const ordered_correlation *t) {
    const correlation &p = t->product;
    if (cuda_exact_has_few_sums(c, t))
        cuda_exact_correlate_few_sums(s, c, t);
    else if (t->phase.width > 0)
        launch_picked<true, false>(s, c, *t);
    else if (t->part < p.terms)
        launch_picked<false, true>(s, c, *t);
    else
        launch_picked<false, false>(s, c, *t);
}
