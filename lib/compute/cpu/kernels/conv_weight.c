// SPDX-License-Identifier: MIT
// Weight gradient of a convolution: sums over positions for OUTPUTS × CHANNELS × COLUMNS weights of
// one kernel row, in registers; then over the lanes, by halves. In large images the sum over
// positions has two levels (layer_sums.h): a part is some whole rows of the output.
//
// A vector is one position of 16 or 8 samples, or four neighbouring positions of four samples
// (WIDTH = 16 floats); in the last case, lanes past the end of a row are zero. Two positions of
// eight samples would be added in another order than those of sixteen.
#if KERNEL_LANES == 4
#define SIMD_WIDE
#endif
#include "compute/layer_sums.h"
#include "simd.h"

// Registers: at most 24 (AVX-512) or 12 sums, in addition to the loaded values.
enum {
    WEIGHT_SUMS = REGISTERS == 32 ? 24 : 12,
    MAX_WEIGHT_OUTPUTS = CONV_SCRATCH_OUTPUTS,
    MAX_WEIGHT_CHANNELS = 4,
    MAX_WEIGHT_COLUMNS = 5
};

typedef struct weight_place {
    const float *in, *dout; // the first position in the sums
    int first, rows;        // the first output row, and their number
    int part_rows;          // of a long sum; 0: no parts. Parts begin at multiples of it
    float *sums;            // [outputs][channels][columns][WIDTH]: continued
} weight_place;

typedef vec weight_sums[MAX_WEIGHT_OUTPUTS][MAX_WEIGHT_CHANNELS][MAX_WEIGHT_COLUMNS];

enum { ELEMENTS = WIDTH / LANES }; // positions in a vector

// Mask of the lanes of a vector, from `slice` on, that come before `live`.
INLINE ivec live_lanes(int slice, int live) {
    ivec mask;
    for (int i = 0; i < VL; i++) mask[i] = slice + i < live ? -1 : 0;
    return mask;
}

// Adds one vector of positions; with PART, only the lanes in `mask`.
INLINE void weight_positions(const conv_weight_task *t, const float *in, const float *dout,
                             weight_sums sum, const int OUTPUTS, const int CHANNELS,
                             const int COLUMNS, const bool PART, ivec mask) {
    operand d[MAX_WEIGHT_OUTPUTS];
    UNROLL for (int o = 0; o < OUTPUTS; o++) {
        const vec v = vload_wide(dout + (size_t)o * t->dout.plane);
        d[o] = voperand(PART ? vmask(mask, v) : v);
    }
    UNROLL for (int c = 0; c < CHANNELS; c++) UNROLL for (int k = 0; k < COLUMNS; k++) {
        const vec v = vload_wide(in + (size_t)c * t->in.plane + (size_t)(k * LANES));
        const operand x = voperand(PART ? vmask(mask, v) : v);
        UNROLL for (int o = 0; o < OUTPUTS; o++) sum[o][c][k] =
            vfma_operands(d[o], x, sum[o][c][k]);
    }
}

// Adds one row of positions. Each vector of positions loads its own part of the input.
INLINE void weight_row(const conv_weight_task *t, const float *in, const float *dout,
                       weight_sums sum, int slice, const int OUTPUTS, const int CHANNELS,
                       const int COLUMNS) {
    // Neighbours in the output are neighbours in the input only with stride 1.
    const int together = t->stride_x == 1 ? ELEMENTS : 1;
    const size_t step = (size_t)(t->stride_x * together) * LANES;
    const ivec one = live_lanes(slice, LANES);
    int x = 0;
    for (; x + together <= t->dout.width; x += together, in += step, dout += together * LANES) {
        if (together == ELEMENTS)
            weight_positions(t, in, dout, sum, OUTPUTS, CHANNELS, COLUMNS, false, one);
        else
            weight_positions(t, in, dout, sum, OUTPUTS, CHANNELS, COLUMNS, true, one);
    }
    if (ELEMENTS > 1 && x < t->dout.width)
        weight_positions(t, in, dout, sum, OUTPUTS, CHANNELS, COLUMNS, true,
                         live_lanes(slice, (t->dout.width - x) * LANES));
}

// One position of the sliding window: input column `u` + COLUMNS - 1 enters, column `u` leaves.
INLINE void weight_window(const conv_weight_task *t, const float *in, const float *dout,
                          weight_sums sum, vec window[MAX_WEIGHT_COLUMNS], const int u,
                          const int OUTPUTS, const int COLUMNS) {
    window[(u + COLUMNS - 1) % COLUMNS] = vload(in + (u + COLUMNS - 1) * LANES);
    UNROLL for (int o = 0; o < OUTPUTS; o++) {
        const vec d = vload(dout + (size_t)o * t->dout.plane + u * LANES);
        UNROLL for (int k = 0; k < COLUMNS; k++) sum[o][0][k] =
            vfma(d, window[(u + k) % COLUMNS], sum[o][0][k]);
    }
}

// The same sums for one channel and stride 1: the columns that a position shares with the previous
// one stay in registers, which halves the loads.
INLINE void weight_row_window(const conv_weight_task *t, const float *in, const float *dout,
                              weight_sums sum, const int OUTPUTS, const int COLUMNS) {
    vec window[MAX_WEIGHT_COLUMNS];
    UNROLL for (int k = 0; k < COLUMNS; k++) window[k] =
        k < COLUMNS - 1 ? vload(in + k * LANES) : vset(0.0f);
    int x = 0;
    for (; x + COLUMNS <= t->dout.width; x += COLUMNS) {
        UNROLL for (int u = 0; u < COLUMNS; u++)
            weight_window(t, in, dout, sum, window, u, OUTPUTS, COLUMNS);
        in += COLUMNS * LANES;
        dout += COLUMNS * LANES;
    }
    UNROLL for (int u = 0; u < COLUMNS - 1; u++) if (x + u < t->dout.width)
        weight_window(t, in, dout, sum, window, u, OUTPUTS, COLUMNS);
}

// The end of the part of row y, or of all rows, counted from the first one.
INLINE int end_of_part(const weight_place *p, int y) {
    if (!p->part_rows) return p->rows;
    return imin(p->rows, ((p->first + y) / p->part_rows + 1) * p->part_rows - p->first);
}

// A part's sums begin with zero, others with those of the rows before.
INLINE void begin_sums(const weight_place *p, int slice, weight_sums sum, const int OUTPUTS,
                       const int CHANNELS, const int COLUMNS) {
    const float *place = p->sums + slice;
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int c = 0; c < CHANNELS; c++)
        UNROLL for (int k = 0; k < COLUMNS; k++, place += WIDTH) sum[o][c][k] =
            p->part_rows ? vset(0.0f) : vload(place);
}

INLINE void end_sums(const weight_place *p, int slice, weight_sums sum, const int OUTPUTS,
                     const int CHANNELS, const int COLUMNS) {
    float *place = p->sums + slice;
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int c = 0; c < CHANNELS; c++)
        UNROLL for (int k = 0; k < COLUMNS; k++, place += WIDTH)
            vstore(place, p->part_rows ? vload(place) + sum[o][c][k] : sum[o][c][k]);
}

INLINE void weight_block(const conv_weight_task *t, const weight_place *p, const int OUTPUTS,
                         const int CHANNELS, const int COLUMNS) {
    const size_t row_step = (size_t)t->stride_y * t->in.row;
    const bool window = !COMPACT && ELEMENTS == 1 && CHANNELS == 1 && t->stride_x == 1 &&
                        OUTPUTS * COLUMNS + COLUMNS + 1 < REGISTERS;
    for (int slice = 0; slice < WIDTH; slice += VL)
        for (int y = 0, end; y < p->rows; y = end) {
            weight_sums sum;
            end = end_of_part(p, y);
            begin_sums(p, slice, sum, OUTPUTS, CHANNELS, COLUMNS);
            for (int row = y; row < end; row++) {
                const float *in = p->in + (size_t)row * row_step + slice;
                const float *dout = p->dout + (size_t)row * t->dout.row + slice;
                if (window)
                    weight_row_window(t, in, dout, sum, OUTPUTS, COLUMNS);
                else
                    weight_row(t, in, dout, sum, slice, OUTPUTS, CHANNELS, COLUMNS);
            }
            end_sums(p, slice, sum, OUTPUTS, CHANNELS, COLUMNS);
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
    WEIGHT(o, 1, 3) \
    WEIGHT(o, 1, 4) \
    WEIGHT(o, 1, 5) \
    WEIGHT(o, 2, 1) \
    WEIGHT(o, 2, 2) WEIGHT(o, 2, 3) WEIGHT(o, 3, 1) WEIGHT(o, 4, 1)
WEIGHTS(1)
WEIGHTS(2)
WEIGHTS(3)
WEIGHTS(4)
#define WEIGHT_ROW(o)                                                                 \
    {                                                                                 \
        {NULL}, {NULL,                                                                \
                 weight_##o##_1_1,                                                    \
                 weight_##o##_1_2,                                                    \
                 weight_##o##_1_3,                                                    \
                 weight_##o##_1_4,                                                    \
                 weight_##o##_1_5},                                                   \
            {NULL, weight_##o##_2_1, weight_##o##_2_2, weight_##o##_2_3, NULL, NULL}, \
            {NULL, weight_##o##_3_1}, {                                               \
            NULL, weight_##o##_4_1                                                    \
        }                                                                             \
    }
static const weight_function
    weight_blocks[MAX_WEIGHT_OUTPUTS + 1][MAX_WEIGHT_CHANNELS + 1][MAX_WEIGHT_COLUMNS + 1] = {
        {{NULL}}, WEIGHT_ROW(1), WEIGHT_ROW(2), WEIGHT_ROW(3), WEIGHT_ROW(4)};

// If the output gradient and one channel of the input fit the L1 cache, a tile of sums runs over
// all rows at once. Otherwise it runs over strips of output rows, so that a strip and its part of
// the input stay in that cache for all channels, kernel rows and columns; between strips the sums
// are stored in the scratch memory of the thread. The order of every sum is the same.
typedef struct weight_tile { // sums that one call of a block function continues
    int o, outputs, c, channels, ky, kx, columns;
} weight_tile;

enum { STRIP_BYTES = 36 << 10 }; // for an L1 cache of 48 KiB; mostly fits one of 32

static int part_rows(const conv_weight_task *t) {
    return is_long_sum(t->dout.height, t->dout.width) ? long_sum_rows(t->dout.height, t->dout.width)
                                                      : 0;
}

static int strip_rows(const conv_weight_task *t, int outputs) {
    const int in_row = (int)(t->in.row * sizeof(float)),
              dout_row = (int)(t->dout.row * sizeof(float));
    if (outputs * dout_row * t->dout.height <= STRIP_BYTES &&
        in_row * t->in.height <= STRIP_BYTES / 2)
        return t->dout.height;
    const int halo = t->in.channels * (t->kernel_h - 1) * in_row;
    // If the channels do not all fit, the output strip stays in the cache and the input streams.
    const int rows =
        halo < STRIP_BYTES / 2
            ? (STRIP_BYTES - halo) / (outputs * dout_row + t->in.channels * t->stride_y * in_row)
            : STRIP_BYTES / 2 / (outputs * dout_row);
    const int unit = imax(1, part_rows(t));
    return imin(imax(unit, rows / unit * unit), t->dout.height);
}

static int round_up_divide(int a, int b) {
    return a > 0 ? (a + b - 1) / b : 0;
}

static void tile_strip(const conv_weight_task *t, const weight_tile *r, int y, int end,
                       float *sums) {
    // Output rows of the strip whose input row lies inside the image.
    const int top = t->pad_y - r->ky;
    const int first = imax(y, round_up_divide(top, t->stride_y));
    const int last = imin(end, round_up_divide(t->in.height + top, t->stride_y));
    const ptrdiff_t in_row = (ptrdiff_t)first * t->stride_y - top;
    const weight_place p = {
        .in = t->in.data + (size_t)r->c * t->in.plane + in_row * (ptrdiff_t)t->in.row +
              (ptrdiff_t)(r->kx - t->pad_x) * LANES,
        .dout = t->dout.data + (size_t)r->o * t->dout.plane + (size_t)first * t->dout.row,
        .first = first,
        .rows = last - first,
        .part_rows = part_rows(t),
        .sums = sums};
    if (p.rows > 0) weight_blocks[r->outputs][r->channels][r->columns](t, &p);
}

static void tile_finish(const conv_weight_task *t, const weight_tile *r, const float *lanes) {
    float sums[MAX_WEIGHT_OUTPUTS * MAX_WEIGHT_CHANNELS * MAX_WEIGHT_COLUMNS];
    const size_t window = (size_t)t->kernel_h * (size_t)t->kernel_w;
    const size_t dw_row = t->dw_row ? t->dw_row : (size_t)t->in.channels * window;
    sums_by_halves(lanes, r->outputs * r->channels * r->columns, sums);
    const float *sum = sums;
    for (int o = r->o; o < r->o + r->outputs; o++)
        for (int c = r->c; c < r->c + r->channels; c++) {
            float *dw = t->dw + (size_t)o * dw_row + (size_t)c * window +
                        (size_t)(r->ky * t->kernel_w + r->kx);
            for (int k = 0; k < r->columns; k++, sum++) dw[k] = t->accumulate ? dw[k] + *sum : *sum;
        }
}

// Channels of a tile: with one column, four of them keep enough sums on their way at once. Without
// AVX2 a multiply-add takes so many registers that fewer are faster.
static int tile_channels(const conv_weight_task *t, int columns) {
    const int most = columns > 3 ? 1 : columns == 1 && VL > 4 ? MAX_WEIGHT_CHANNELS : 2;
    return imin(t->in.channels, most);
}

typedef enum tile_pass { PASS_STRIP, PASS_FINISH, PASS_WHOLE } tile_pass;

// Computes the tiles of a block of outputs, over output rows [y, end).
static void each_tile(const conv_weight_task *t, weight_tile r, tile_pass pass, int y, int end) {
    const int columns = imin(t->kernel_w, MAX_WEIGHT_COLUMNS);
    const int channels = tile_channels(t, columns);
    float *sums = t->scratch;
    for (r.c = 0; r.c < t->in.channels; r.c += r.channels) {
        r.channels = imin(channels, t->in.channels - r.c);
        for (r.ky = 0; r.ky < t->kernel_h; r.ky++)
            for (r.kx = 0; r.kx < t->kernel_w; r.kx += r.columns) {
                r.columns = imin(columns, t->kernel_w - r.kx);
                const size_t floats = (size_t)(r.outputs * r.channels * r.columns) * WIDTH;
                if (pass == PASS_WHOLE) memset(sums, 0, floats * sizeof *sums);
                if (pass != PASS_FINISH) tile_strip(t, &r, y, end, sums);
                if (pass != PASS_STRIP) tile_finish(t, &r, sums);
                if (pass != PASS_WHOLE) sums += floats;
            }
    }
}

static void weigh_strips(const conv_weight_task *t, const weight_tile *r, int rows) {
    const size_t weights = (size_t)(r->outputs * t->in.channels * t->kernel_h * t->kernel_w);
    memset(t->scratch, 0, weights * WIDTH * sizeof(float));
    for (int y = 0; y < t->dout.height; y += rows)
        each_tile(t, *r, PASS_STRIP, y, imin(y + rows, t->dout.height));
    each_tile(t, *r, PASS_FINISH, 0, 0);
}

void KERNEL(conv_weight)(const conv_weight_task *t) {
    const int columns = imin(t->kernel_w, MAX_WEIGHT_COLUMNS);
    const int channels = tile_channels(t, columns);
    const int outputs = imin(MAX_WEIGHT_OUTPUTS, imax(1, WEIGHT_SUMS / (columns * channels)));
    weight_tile r = {0};
    for (r.o = 0; r.o < t->dout.channels; r.o += r.outputs) {
        // Six outputs as 3 + 3, not 4 + 2.
        const int left = t->dout.channels - r.o, pieces = (left + outputs - 1) / outputs;
        r.outputs = (left + pieces - 1) / pieces;
        const int rows = strip_rows(t, r.outputs);
        if (rows == t->dout.height)
            each_tile(t, r, PASS_WHOLE, 0, rows);
        else
            weigh_strips(t, &r, rows);
    }
    if (t->db) KERNEL(conv_bias_gradient)(t);
}
