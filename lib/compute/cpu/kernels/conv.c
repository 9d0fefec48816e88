// Convolution forward and input gradient (one correlation), and the weight gradient.
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

static int imin(int a, int b) {
    return a < b ? a : b;
}
static int imax(int a, int b) {
    return a > b ? a : b;
}

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

// ---- Weight gradient: sums over positions for OUTPUTS × CHANNELS × COLUMNS weights of one kernel
// row. -------------

// Registers: at most 24 (AVX-512) or 12 sums beside the loaded values.
enum {
    WEIGHT_SUMS = VL == 16 ? 24 : 12,
    MAX_WEIGHT_OUTPUTS = CONV_SCRATCH_OUTPUTS,
    MAX_WEIGHT_CHANNELS = 2,
    MAX_WEIGHT_COLUMNS = 5
};

typedef struct weight_place {
    const float *in, *dout; // the first position that takes part
    int rows;               // of positions that take part
    float *sums;            // [outputs][channels][columns][16]: continued
} weight_place;

INLINE void weight_block(const conv_weight_task *t, const weight_place *p, const int OUTPUTS,
                         const int CHANNELS, const int COLUMNS) {
    const size_t step = (size_t)t->stride_x * GROUP, row_step = (size_t)t->stride_y * t->in.row;
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        vec sum[MAX_WEIGHT_OUTPUTS][MAX_WEIGHT_CHANNELS][MAX_WEIGHT_COLUMNS];
        float *place = p->sums + slice * VL;
        UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int c = 0; c < CHANNELS; c++)
            UNROLL for (int k = 0; k < COLUMNS; k++, place += GROUP) sum[o][c][k] = vload(place);
        for (int y = 0; y < p->rows; y++) {
            const float *in = p->in + (size_t)y * row_step + slice * VL;
            const float *dout = p->dout + (size_t)y * t->dout.row + slice * VL;
            for (int x = 0; x < t->dout.width; x++) {
                vec d[MAX_WEIGHT_OUTPUTS];
                UNROLL for (int o = 0; o < OUTPUTS; o++) d[o] =
                    vload(dout + (size_t)o * t->dout.plane);
                UNROLL for (int c = 0; c < CHANNELS; c++) UNROLL for (int k = 0; k < COLUMNS; k++) {
                    vec v = vload(in + (size_t)c * t->in.plane + (size_t)k * GROUP);
                    UNROLL for (int o = 0; o < OUTPUTS; o++) sum[o][c][k] =
                        vfma(d[o], v, sum[o][c][k]);
                }
                in += step;
                dout += GROUP;
            }
        }
        place = p->sums + slice * VL;
        UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int c = 0; c < CHANNELS; c++)
            UNROLL for (int k = 0; k < COLUMNS; k++, place += GROUP) vstore(place, sum[o][c][k]);
    }
}

typedef void (*weight_function)(const conv_weight_task *, const weight_place *);
#define WEIGHT(o, c, k)                                                                     \
    static __attribute__((noinline)) void weight_##o##_##c##_##k(const conv_weight_task *t, \
                                                                 const weight_place *p) {   \
        weight_block(t, p, o, c, k);                                                        \
    }
#define WEIGHTS(o)  \
    WEIGHT(o, 1, 1) \
    WEIGHT(o, 1, 2) \
    WEIGHT(o, 1, 3) WEIGHT(o, 1, 4) WEIGHT(o, 1, 5) WEIGHT(o, 2, 1) WEIGHT(o, 2, 2) WEIGHT(o, 2, 3)
WEIGHTS(1)
WEIGHTS(2)
WEIGHTS(3)
WEIGHTS(4)
#define WEIGHT_ROW(o)                                                              \
    {                                                                              \
        {NULL}, {NULL,                                                             \
                 weight_##o##_1_1,                                                 \
                 weight_##o##_1_2,                                                 \
                 weight_##o##_1_3,                                                 \
                 weight_##o##_1_4,                                                 \
                 weight_##o##_1_5},                                                \
        {                                                                          \
            NULL, weight_##o##_2_1, weight_##o##_2_2, weight_##o##_2_3, NULL, NULL \
        }                                                                          \
    }
static const weight_function
    weight_blocks[MAX_WEIGHT_OUTPUTS + 1][MAX_WEIGHT_CHANNELS + 1][MAX_WEIGHT_COLUMNS + 1] = {
        {{NULL}}, WEIGHT_ROW(1), WEIGHT_ROW(2), WEIGHT_ROW(3), WEIGHT_ROW(4)};

// The sums of a block of outputs are taken strip by strip of output rows, so that a strip and what
// it meets of the input stay in the first-level cache for all channels, kernel rows and columns.
// Between strips the sums wait in the thread's scratch memory.
typedef struct weight_tile { // sums that one call of a block function continues
    int o, outputs, c, channels, ky, kx, columns;
} weight_tile;

enum { STRIP_BYTES = 36 << 10 }; // of a first-level cache of 48 KiB, or most of one of 32

static int strip_rows(const conv_weight_task *t, int outputs) {
    const int in_row = (int)(t->in.row * sizeof(float)),
              dout_row = (int)(t->dout.row * sizeof(float));
    const int halo = t->in.channels * (t->kernel_h - 1) * in_row;
    // Where all channels do not fit, the output's strip stays and the input streams.
    const int rows =
        halo < STRIP_BYTES / 2
            ? (STRIP_BYTES - halo) / (outputs * dout_row + t->in.channels * t->stride_y * in_row)
            : STRIP_BYTES / 2 / (outputs * dout_row);
    return imax(1, imin(rows, t->dout.height));
}

static int round_up_divide(int a, int b) {
    return a > 0 ? (a + b - 1) / b : 0;
}

static void tile_strip(const conv_weight_task *t, const weight_tile *r, int y, int end,
                       float *sums) {
    // Output rows of the strip whose input row lies inside of the image.
    const int top = t->pad_y - r->ky;
    const int first = imax(y, round_up_divide(top, t->stride_y));
    const int last = imin(end, round_up_divide(t->in.height + top, t->stride_y));
    const ptrdiff_t in_row = (ptrdiff_t)first * t->stride_y - top;
    const weight_place p = {
        .in = t->in.data + (size_t)r->c * t->in.plane + in_row * (ptrdiff_t)t->in.row +
              (ptrdiff_t)(r->kx - t->pad_x) * GROUP,
        .dout = t->dout.data + (size_t)r->o * t->dout.plane + (size_t)first * t->dout.row,
        .rows = last - first,
        .sums = sums};
    if (p.rows > 0) weight_blocks[r->outputs][r->channels][r->columns](t, &p);
}

static void tile_finish(const conv_weight_task *t, const weight_tile *r, const float *sums) {
    for (int o = r->o; o < r->o + r->outputs; o++)
        for (int c = r->c; c < r->c + r->channels; c++) {
            const size_t row =
                ((size_t)o * (size_t)t->in.channels + (size_t)c) * (size_t)t->kernel_h +
                (size_t)r->ky;
            float *dw = t->dw + row * (size_t)t->kernel_w + (size_t)r->kx;
            for (int k = 0; k < r->columns; k++, sums += GROUP)
                dw[k] = t->accumulate ? dw[k] + sum_by_halves(sums) : sum_by_halves(sums);
        }
}

// Calls tile_strip, or at the end (y < 0) tile_finish, for each tile of a block of outputs.
static void each_tile(const conv_weight_task *t, weight_tile r, int y, int end) {
    const int columns = imin(t->kernel_w, MAX_WEIGHT_COLUMNS);
    const int channels = columns <= 3 && t->in.channels > 1 ? 2 : 1;
    float *sums = t->scratch;
    for (r.c = 0; r.c < t->in.channels; r.c += r.channels) {
        r.channels = imin(channels, t->in.channels - r.c);
        for (r.ky = 0; r.ky < t->kernel_h; r.ky++)
            for (r.kx = 0; r.kx < t->kernel_w; r.kx += r.columns) {
                r.columns = imin(columns, t->kernel_w - r.kx);
                if (y < 0)
                    tile_finish(t, &r, sums);
                else
                    tile_strip(t, &r, y, end, sums);
                sums += (size_t)(r.outputs * r.channels * r.columns) * GROUP;
            }
    }
}

void KERNEL(conv_bias_gradient)(const conv_weight_task *t) {
    float sums[GROUP] __attribute__((aligned(64)));
    for (int o = 0; o < t->dout.channels; o++) {
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            vec sum = vset(0.0f);
            for (int y = 0; y < t->dout.height; y++) {
                const float *d =
                    t->dout.data + (size_t)o * t->dout.plane + (size_t)y * t->dout.row + slice * VL;
                for (int x = 0; x < t->dout.width; x++) sum += vload(d + (size_t)x * GROUP);
            }
            vstore(sums + slice * VL, sum);
        }
        t->db[o] = t->accumulate ? t->db[o] + sum_by_halves(sums) : sum_by_halves(sums);
    }
}

void KERNEL(conv_weight)(const conv_weight_task *t) {
    const int columns = imin(t->kernel_w, MAX_WEIGHT_COLUMNS);
    const int channels = columns <= 3 && t->in.channels > 1 ? 2 : 1;
    const int outputs = imin(MAX_WEIGHT_OUTPUTS, imax(1, WEIGHT_SUMS / (columns * channels)));
    weight_tile r = {0};
    for (r.o = 0; r.o < t->dout.channels; r.o += r.outputs) {
        // Six outputs as 3 + 3, not 4 + 2.
        const int left = t->dout.channels - r.o, pieces = (left + outputs - 1) / outputs;
        r.outputs = (left + pieces - 1) / pieces;
        const size_t weights = (size_t)(r.outputs * t->in.channels * t->kernel_h * t->kernel_w);
        memset(t->scratch, 0, weights * GROUP * sizeof(float));
        const int rows = strip_rows(t, r.outputs);
        for (int y = 0; y < t->dout.height; y += rows)
            each_tile(t, r, y, imin(y + rows, t->dout.height));
        each_tile(t, r, -1, -1);
    }
    if (t->db) KERNEL(conv_bias_gradient)(t);
}

// ---- Input gradient of a convolution with a stride: the same sum in the same order, one output at
// a time. --------

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
