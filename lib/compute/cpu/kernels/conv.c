// SPDX-License-Identifier: MIT
// Convolution forward and input gradient: one correlation.
//
// A vector of WIDTH = 16 floats is one element of 16 samples, or 16 / LANES neighbouring elements
// of fewer. In the latter case, if the length of a row is not a multiple of that, the last vector
// of the row overlaps the one before it.
//
// Registers hold a block of outputs × columns, so every loaded value feeds several multiply-adds:
// up to 6×4 or 4×6 of AVX-512's 32 registers, 4×3 of AVX2's 16. One inline template makes all
// sizes; the choice affects speed, never bits.
#define SIMD_WIDE
#include "simd.h"

enum {
    MAX_VECTORS = 6,
    ELEMENTS = WIDTH / LANES, // columns in a vector
};

// Returns how many vectors per output fit the registers when `outputs` outputs are summed at once.
INLINE int vectors_for(int outputs) {
    const int sums = VL == 16 || COMPACT ? 24 : 12;
    return imin(MAX_VECTORS, sums / outputs);
}

typedef struct block_place {
    const float *in;   // element read by kernel row `row_begin`, column `column_begin` at the first
                       // column of the block
    const float *w;    // packed weights of the block
    float *out;        // first output, first column
    const float *bias; // of the first output; NULL: zero
    int row_begin, row_end; // kernel rows inside the input
    int column_begin, column_end;
    size_t step, out_step; // floats between vectors, of `in` and of `out`
    size_t last;           // ELEMENTS > 1: offset of the last vector in floats, in both
    int live;              // floats of a vector that are stored
} block_place;

INLINE size_t vector_at(const block_place *p, int x, const int VECTORS, size_t step) {
    return ELEMENTS > 1 && x == VECTORS - 1 ? p->last : (size_t)x * step;
}

INLINE void store_live(float *to, vec v, int live) {
    if (ELEMENTS == 1 || live >= VL) {
        vstore_unaligned(to, v);
    } else if (live > 0) {
        float part[VL];
        vstore_unaligned(part, v);
        memcpy(to, part, (size_t)live * sizeof *to);
    }
}

// OUTPUTS × VECTORS sums over channels, kernel rows, kernel columns.
INLINE void conv_block(const conv_task *t, const block_place *p, const int OUTPUTS,
                       const int VECTORS, int live) {
    // The input gradient of a stride has positions that no kernel element reaches.
    const bool reached = p->row_begin < p->row_end && p->column_begin < p->column_end;
    const int channels = reached ? t->in.channels : 0;
    for (int slice = 0; slice < WIDTH; slice += VL) {
        // What is behind the last column may be what another thread is writing.
        if (ELEMENTS > 1 && slice >= p->live) break;
        vec sum[6][MAX_VECTORS];
        UNROLL for (int o = 0; o < OUTPUTS; o++) {
            vec start = vset(p->bias && o < live ? p->bias[o] : 0.0f);
            UNROLL for (int x = 0; x < VECTORS; x++) sum[o][x] = start;
        }
        const float *plane = p->in + slice;
        const float *weights =
            p->w + (size_t)(p->row_begin * t->kernel_w + p->column_begin) * (size_t)OUTPUTS;
        for (int c = 0; c < channels; c++) {
            const float *row = plane, *row_weights = weights;
            for (int ky = p->row_begin; ky < p->row_end; ky++) {
                const float *in = row, *w = row_weights;
                for (int kx = p->column_begin; kx < p->column_end; kx++) {
                    operand v[MAX_VECTORS];
                    UNROLL for (int x = 0; x < VECTORS; x++) v[x] =
                        voperand(vload_wide(in + vector_at(p, x, VECTORS, p->step)));
                    UNROLL for (int o = 0; o < OUTPUTS; o++) {
                        const operand weight = voperand(vset(w[o]));
                        UNROLL for (int x = 0; x < VECTORS; x++) sum[o][x] =
                            vfma_operands(weight, v[x], sum[o][x]);
                    }
                    in += LANES;
                    w += OUTPUTS;
                }
                row += t->in.row;
                row_weights += (size_t)t->kernel_w * (size_t)OUTPUTS;
            }
            plane += t->in.plane;
            weights += (size_t)(t->kernel_h * t->kernel_w) * (size_t)OUTPUTS;
        }
        UNROLL for (int o = 0; o < OUTPUTS; o++) {
            if (o >= live) break;
            UNROLL for (int x = 0; x < VECTORS; x++) store_live(
                p->out + (size_t)o * t->out.plane + slice + vector_at(p, x, VECTORS, p->out_step),
                sum[o][x], p->live - slice);
        }
    }
}

// One function per block size in use: the sizes become constants, and the sums registers.
#define BLOCK(o, x)                                                                         \
    static __attribute__((noinline)) void block_##o##_##x(const conv_task *t,               \
                                                          const block_place *p, int live) { \
        conv_block(t, p, o, x, live);                                                       \
    }
typedef void (*block_function)(const conv_task *, const block_place *, int);
#define BLOCKS_6(o) BLOCK(o, 1) BLOCK(o, 2) BLOCK(o, 3) BLOCK(o, 4) BLOCK(o, 5) BLOCK(o, 6)
BLOCKS_6(1)
BLOCKS_6(2)
BLOCKS_6(3)
BLOCKS_6(4)
BLOCK(5, 1)
BLOCK(5, 2)
BLOCK(5, 3)
BLOCK(5, 4)
BLOCK(6, 1)
BLOCK(6, 2)
BLOCK(6, 3)
BLOCK(6, 4)
#define ROW_4(o) NULL, block_##o##_1, block_##o##_2, block_##o##_3, block_##o##_4
#define ROW_6(o) ROW_4(o), block_##o##_5, block_##o##_6
static const block_function blocks[7][MAX_VECTORS + 1] = {
    {NULL}, {ROW_6(1)}, {ROW_6(2)}, {ROW_6(3)}, {ROW_6(4)}, {ROW_4(5)}, {ROW_4(6)}};

// Chooses the cheapest block: few passes over the input, and pieces that fill the row of columns
// well.
int KERNEL(conv_block_size)(int outputs, int width) {
    int best = 1;
    double best_cost = 1e30;
    const int row = (width + ELEMENTS - 1) / ELEMENTS;
    for (int o = 1; o <= 6; o++) {
        int vectors = vectors_for(o), passes = blocks_of(outputs, o);
        int pieces = blocks_of(row, vectors);
        // Loads and multiply-adds of one kernel element, for a whole row of all outputs.
        double cost =
            (double)passes * ((double)pieces * (o + 1) + row) + (double)(passes * o * row);
        if (cost < best_cost) {
            best_cost = cost;
            best = o;
        }
    }
    return best;
}

// Kernel columns that reach the input from output columns [x, x + n); the others would only add
// zeros.
static void clip_columns(const conv_task *t, int x, int n, int *begin, int *end) {
    *begin = imax(0, t->pad_x - (x + n - 1) * t->stride_x);
    *end = imin(t->kernel_w, t->in.width + t->pad_x - x * t->stride_x);
    if (*end < *begin) *end = *begin;
}

// Computes columns [x, x + n) of a row.
static void conv_piece(const conv_task *t, int block, int first, int y, int x, int n,
                       block_place *p) {
    const int top = y * t->stride_y - t->pad_y;
    clip_columns(t, x, n, &p->column_begin, &p->column_end);
    const ptrdiff_t column = (ptrdiff_t)x * t->stride_x + p->column_begin - t->pad_x;
    p->in = t->in.data + (ptrdiff_t)(top + p->row_begin) * (ptrdiff_t)t->in.row + column * LANES;
    p->out = t->out.data + (size_t)first * t->out.plane + (size_t)y * t->out.row +
             (size_t)(x * (1 + t->skip_x)) * LANES;
    const int vectors = (n + ELEMENTS - 1) / ELEMENTS;
    p->last = (size_t)imax(0, n - ELEMENTS) * LANES;
    blocks[block][vectors](t, p, imin(block, t->out.channels - first));
}

static void conv_row(const conv_task *t, int block, int first, int y, const float *packed) {
    const int top = y * t->stride_y - t->pad_y, width = t->out.width;
    block_place p = {.w = packed, .bias = t->bias ? t->bias + first : NULL};
    p.row_begin = imax(0, -top);
    p.row_end = imin(t->kernel_h, t->in.height - top);
    if (p.row_end < p.row_begin) p.row_end = p.row_begin;
    p.step = (size_t)t->stride_x * WIDTH;
    p.out_step = (size_t)(1 + t->skip_x) * WIDTH;
    p.live = WIDTH;
    if (ELEMENTS > 1 && (t->stride_x > 1 || t->skip_x > 0 || width < ELEMENTS)) {
        // Neighbours do not form a vector: one column at a time, in the first lanes.
        p.live = LANES;
        for (int x = 0; x < width; x++) conv_piece(t, block, first, y, x, 1, &p);
        return;
    }
    const int vectors = vectors_for(block), row = (width + ELEMENTS - 1) / ELEMENTS;
    const int pieces = blocks_of(row, vectors);
    for (int i = 0, x = 0; i < pieces; i++) {
        const int left = (width - x + ELEMENTS - 1) / ELEMENTS;
        const int n = imin((left + pieces - i - 1) / (pieces - i) * ELEMENTS, width - x);
        // A last piece shorter than a vector begins inside the piece before it.
        const int from = n < ELEMENTS ? width - ELEMENTS : x;
        conv_piece(t, block, first, y, from, imax(n, ELEMENTS), &p);
        x += n;
    }
}

enum { STRIP_BYTES = 512 << 10 }; // of the input; it should stay in the second-level cache

// Rows of output for which all outputs are computed before the next rows: those whose input stays
// in the cache. All, if the weights, which every strip reads again, are more than what that saves.
static int strip_rows(const conv_task *t, int block) {
    const size_t row = (size_t)t->in.channels * t->in.row * sizeof(float);
    const size_t weights = (size_t)(t->in.channels * t->kernel_h * t->kernel_w) *
                           (size_t)t->out.channels * sizeof(float);
    const size_t passes = (size_t)blocks_of(t->out.channels, block);
    const int halo = t->kernel_h - t->stride_y;
    const int rows = imax(1, ((int)(STRIP_BYTES / row) - halo) / t->stride_y);
    const size_t strips = (size_t)blocks_of(t->out.height, rows);
    return strips * weights < (passes - 1) * row * (size_t)t->in.height ? rows : t->out.height;
}

void KERNEL(conv)(const conv_task *t, int block) {
    const size_t packed = (size_t)(t->in.channels * t->kernel_h * t->kernel_w * block);
    const int rows = strip_rows(t, block);
    for (int strip = 0; strip < t->out.height; strip += rows)
        for (int first = 0; first < t->out.channels; first += block)
            for (int y = strip; y < imin(strip + rows, t->out.height); y++)
                conv_row(t, block, first, y, t->packed + (size_t)(first / block) * packed);
}

// One correlation for each pair of remainders.
void KERNEL(conv_input)(const conv_task *t, int block) {
    const int packed =
        t->packed_outputs ? t->packed_outputs : blocks_of(t->out.channels, block) * block;
    const float *weights = t->packed;
    conv_task part = *t;
    part.stride_y = part.stride_x = 1;
    part.skip_x = t->stride_x - 1;
    part.out.row = t->out.row * (size_t)t->stride_y;
    for (int i = 0; i < t->stride_y; i++)
        for (int j = 0; j < t->stride_x; j++) {
            const conv_phase y =
                conv_phase_of(t->kernel_h, t->stride_y, t->pad_y, i, t->out.height);
            const conv_phase x = conv_phase_of(t->kernel_w, t->stride_x, t->pad_x, j, t->out.width);
            part.kernel_h = y.taps, part.kernel_w = x.taps;
            part.pad_y = y.pad, part.pad_x = x.pad;
            part.out.height = y.count, part.out.width = x.count;
            part.out.data = t->out.data + (size_t)y.first * t->out.row + (size_t)x.first * LANES;
            const size_t of_output = (size_t)(t->in.channels * y.taps * x.taps);
            part.packed = weights + (size_t)t->packed_first * of_output;
            if (x.count > 0) KERNEL(conv)(&part, block);
            weights += (size_t)packed * of_output;
        }
}
