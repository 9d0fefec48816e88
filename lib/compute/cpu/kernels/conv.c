// Convolution forward and input gradient: one correlation.
//
// Registers hold a block of outputs × columns, so that every loaded value feeds several
// multiply-adds: 6×4 or 4×5 of the 32 registers of AVX-512, 4×3 of the 16 of AVX2. One inline
// template makes all sizes; the choice changes speed, never bits.
#include "simd.h"

enum { MAX_COLUMNS = 6 };

// Columns that fit the registers beside OUTPUTS rows of sums.
INLINE int columns_for(int outputs) {
    const int sums = VL == 16 ? 24 : 12;
    int columns = sums / outputs;
    return columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

typedef struct block_place {
    const float *in;   // element read by kernel row `row_begin`, column `column_begin` at the first
                       // column of the block
    const float *w;    // packed weights of the block
    float *out;        // first output, first column
    const float *bias; // of the first output; NULL: zero
    int row_begin, row_end; // kernel rows inside of the input
    int column_begin, column_end;
} block_place;

// OUTPUTS × COLUMNS sums over channels, kernel rows, kernel columns.
INLINE void conv_block(const conv_task *t, const block_place *p, const int OUTPUTS,
                       const int COLUMNS, int live) {
    const size_t step = (size_t)t->stride_x * GROUP;
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        vec sum[6][MAX_COLUMNS];
        UNROLL for (int o = 0; o < OUTPUTS; o++) {
            vec start = vset(p->bias && o < live ? p->bias[o] : 0.0f);
            UNROLL for (int x = 0; x < COLUMNS; x++) sum[o][x] = start;
        }
        const float *plane = p->in + slice * VL;
        const float *weights =
            p->w + (size_t)(p->row_begin * t->kernel_w + p->column_begin) * (size_t)OUTPUTS;
        for (int c = 0; c < t->in.channels; c++) {
            const float *row = plane, *row_weights = weights;
            for (int ky = p->row_begin; ky < p->row_end; ky++) {
                const float *in = row, *w = row_weights;
                for (int kx = p->column_begin; kx < p->column_end; kx++) {
                    vec v[MAX_COLUMNS];
                    UNROLL for (int x = 0; x < COLUMNS; x++) v[x] = vload(in + (size_t)x * step);
                    UNROLL for (int o = 0; o < OUTPUTS; o++) {
                        vec weight = vset(w[o]);
                        UNROLL for (int x = 0; x < COLUMNS; x++) sum[o][x] =
                            vfma(weight, v[x], sum[o][x]);
                    }
                    in += GROUP;
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
            UNROLL for (int x = 0; x < COLUMNS; x++) vstore(
                p->out + (size_t)o * t->out.plane + (size_t)x * GROUP + slice * VL, sum[o][x]);
        }
    }
}

// One function for each block that is used: the sizes become constants, the sums registers.
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
#define ROW_6(o)                                                                         \
    {                                                                                    \
        NULL, block_##o##_1, block_##o##_2, block_##o##_3, block_##o##_4, block_##o##_5, \
            block_##o##_6                                                                \
    }
#define ROW_4(o) \
    { NULL, block_##o##_1, block_##o##_2, block_##o##_3, block_##o##_4, NULL, NULL }
static const block_function blocks[7][MAX_COLUMNS + 1] = {{NULL},   ROW_6(1), ROW_6(2), ROW_6(3),
                                                          ROW_6(4), ROW_4(5), ROW_4(6)};

// The fewest passes over the input for this many outputs; ties go to the block that fills the row
// of columns best.
int KERNEL(conv_block_size)(int outputs, int width) {
    int best = 1;
    double best_cost = 1e30;
    for (int o = 1; o <= 6; o++) {
        int columns = columns_for(o), passes = (outputs + o - 1) / o;
        int pieces = (width + columns - 1) / columns;
        // Loads and multiply-adds of one kernel element, for a whole row of all outputs.
        double cost =
            (double)passes * ((double)pieces * (o + 1) + width) + (double)(passes * o * width);
        if (cost < best_cost) {
            best_cost = cost;
            best = o;
        }
    }
    return best;
}

// Kernel columns that can meet the input from columns [x, x + n) of the output: others would only
// add zeros.
static void clip_columns(const conv_task *t, int x, int n, int *begin, int *end) {
    *begin = imax(0, t->pad_x - (x + n - 1) * t->stride_x);
    *end = imin(t->kernel_w, t->in.width + t->pad_x - x * t->stride_x);
    if (*end < *begin) *end = *begin;
}

static void conv_row(const conv_task *t, int block, int first, int y, const float *packed) {
    const int live = imin(block, t->out.channels - first), columns = columns_for(block);
    const int top = y * t->stride_y - t->pad_y;
    block_place p = {.w = packed, .bias = t->bias ? t->bias + first : NULL};
    p.row_begin = imax(0, -top);
    p.row_end = imin(t->kernel_h, t->in.height - top);
    if (p.row_end < p.row_begin) p.row_end = p.row_begin;
    const int pieces = (t->out.width + columns - 1) / columns;
    for (int i = 0, x = 0; i < pieces; i++) {
        int n = (t->out.width - x + pieces - i - 1) / (pieces - i);
        clip_columns(t, x, n, &p.column_begin, &p.column_end);
        ptrdiff_t column = (ptrdiff_t)x * t->stride_x + p.column_begin - t->pad_x;
        p.in = t->in.data + (ptrdiff_t)(top + p.row_begin) * (ptrdiff_t)t->in.row + column * GROUP;
        p.out =
            t->out.data + (size_t)first * t->out.plane + (size_t)y * t->out.row + (size_t)x * GROUP;
        blocks[block][n](t, &p, live);
        x += n;
    }
}

void KERNEL(conv)(const conv_task *t, int block) {
    const size_t packed = (size_t)(t->in.channels * t->kernel_h * t->kernel_w * block);
    for (int first = 0; first < t->out.channels; first += block)
        for (int y = 0; y < t->out.height; y++)
            conv_row(t, block, first, y, t->packed + (size_t)(first / block) * packed);
}

// ---- Input gradient of a convolution with a stride ----

// The same sum in the same order, one output at a time.

void KERNEL(conv_strided_input)(const conv_task *t) {
    const int kh = t->kernel_h, kw = t->kernel_w;
    for (int c = 0; c < t->out.channels; c++)
        for (int y = 0; y < t->out.height; y++)
            for (int x = 0; x < t->out.width; x++)
                for (int slice = 0; slice < LANE_SLICES; slice++) {
                    vec sum = vset(0.0f);
                    for (int o = 0; o < t->in.channels; o++)
                        for (int k = kh * kw - 1; k >= 0; k--) {
                            int oy = y + t->pad_y - k / kw, ox = x + t->pad_x - k % kw;
                            if (oy < 0 || ox < 0 || oy % t->stride_y || ox % t->stride_x) continue;
                            oy /= t->stride_y;
                            ox /= t->stride_x;
                            if (oy >= t->in.height || ox >= t->in.width) continue;
                            float w = t->packed[((size_t)o * (size_t)t->out.channels + (size_t)c) *
                                                    (size_t)(kh * kw) +
                                                (size_t)k];
                            sum = vfma(vset(w),
                                       vload(t->in.data + (size_t)o * t->in.plane +
                                             (size_t)oy * t->in.row + (size_t)ox * GROUP +
                                             slice * VL),
                                       sum);
                        }
                    vstore(t->out.data + (size_t)c * t->out.plane + (size_t)y * t->out.row +
                               (size_t)x * GROUP + slice * VL,
                           sum);
                }
}
