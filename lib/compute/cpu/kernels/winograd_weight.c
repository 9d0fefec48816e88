// SPDX-License-Identifier: MIT
// Weight gradient of a 3×3 convolution with stride 1, by Winograd's F(4×4, 3×3).
//
// The transposed algorithm: input patches are transformed as in the forward pass, tiles of the
// output gradient are transformed into 6×6 values, the products of both are summed over tiles and
// samples, and the 36 sums are transformed into the 9 gradients. To avoid sums across lanes, the
// patches are transposed: their lanes are input channels, and the values of the gradient are
// scalars, tile after tile, sample after sample. Between blocks, the sums of all pairs of channels
// are stored in the thread's scratch memory. They belong to one group, so their order depends only
// on the layer's shape.
#include "winograd.h"

enum {
    ROWS = 6,                   // outputs of a product in registers
    VECTORS = VL == 16 ? 4 : 2, // vectors of channels, likewise: 24 sums, or 12
    TERMS = TILES * LANES,      // of a sum within a block
};

// Sizes in floats, and the planes of a point in scratch memory.
typedef struct layout {
    int vectors; // of input channels
    size_t patch_plane, gradient_plane, sum_plane;
    float *patches;   // [point][vector block][term][vector of the block][VL channels]
    float *gradients; // [point][output][term]
    float *sums;      // [point][vector block][output][vector of the block][VL channels]
    float *turned;    // [patch row][column of the run][sample][VL channels]
} layout;

static layout planes_of(int channels, int outputs) {
    layout a = {.vectors = (channels + VL - 1) / VL};
    a.patch_plane = (size_t)a.vectors * TERMS * VL + PLANE_GAP;
    a.gradient_plane = (size_t)outputs * TERMS + PLANE_GAP;
    a.sum_plane = (size_t)a.vectors * VL * (size_t)outputs + PLANE_GAP;
    return a;
}

static layout layout_of(int channels, int outputs, float *scratch) {
    layout a = planes_of(channels, outputs);
    a.patches = scratch;
    a.gradients = a.patches + POINTS * a.patch_plane;
    a.sums = a.gradients + POINTS * a.gradient_plane;
    a.turned = a.sums + POINTS * a.sum_plane;
    return a;
}

size_t KERNEL(winograd_weight_scratch)(int channels, int outputs) {
    const layout a = planes_of(channels, outputs);
    return POINTS * (a.patch_plane + a.gradient_plane + a.sum_plane) +
           PATCH * RUN_COLUMNS * LANES * VL;
}

// Vectors of channels are processed in blocks of VECTORS, then of 2, then of 1.
static int vectors_from(const layout *a, int vector) {
    const int left = a->vectors - vector;
    return left >= VECTORS ? VECTORS : left >= 2 ? 2 : 1;
}

// ---- Patches ----

// Transposes VL channels from `c` on of one element of the image, for all samples.
INLINE void turn(const conv_weight_task *t, int c, const float *at, float *to) {
    for (int slice = 0; slice < LANES; slice += VL) {
        vec rows[VL];
        UNROLL for (int i = 0; i < VL; i++) rows[i] =
            c + i < t->in.channels ? vload(at + (size_t)i * t->in.plane + slice) : vset(0.0f);
        transpose(rows);
        UNROLL for (int i = 0; i < VL; i++) vstore(to + (slice + i) * VL, rows[i]);
    }
}

// Copies the patches of a run of tiles, transposed, to `turned`: VL channels from `c` on.
static void turn_patches(const conv_weight_task *t, const tile_run *r, int c, float *turned) {
    for (int i = 0; i < PATCH; i++) {
        const int y = r->y * TILE - t->pad_y + i;
        for (int j = 0; j < r->count * TILE + 2; j++) {
            const int x = r->x * TILE - t->pad_x + j;
            float *to = turned + (size_t)(i * RUN_COLUMNS + j) * LANES * VL;
            if (y < 0 || y >= t->in.height || x < 0 || x >= t->in.width)
                memset(to, 0, LANES * VL * sizeof *to);
            else
                turn(t, c,
                     t->in.data + (size_t)c * t->in.plane + (size_t)y * t->in.row +
                         (size_t)x * LANES,
                     to);
        }
    }
}

// Input transform of one sample of `turned`.
static void transform_sample(const float *turned, int tiles, float *to, size_t plane, size_t next) {
    vec half[PATCH][RUN_COLUMNS];
    for (int j = 0; j < tiles * TILE + 2; j++) {
        vec d[PATCH], h[PATCH];
        UNROLL for (int i = 0; i < PATCH; i++) d[i] =
            vload(turned + (size_t)(i * RUN_COLUMNS + j) * LANES * VL);
        transform_input(d, h);
        UNROLL for (int i = 0; i < PATCH; i++) half[i][j] = h[i];
    }
    transform_rows(half, tiles, to, plane, next);
}

// `place`: index of the run's first tile in the block.
static void load_patches(const conv_weight_task *t, const layout *a, const tile_run *r, int place) {
    for (int first = 0, count; first < a->vectors; first += count) {
        count = vectors_from(a, first);
        const size_t term = (size_t)count * VL;
        for (int v = first; v < first + count; v++) {
            turn_patches(t, r, v * VL, a->turned);
            float *to = a->patches + (size_t)first * TERMS * VL + (size_t)(v - first) * VL;
            for (int n = 0; n < LANES; n++)
                transform_sample(a->turned + n * VL, r->count,
                                 to + (size_t)(place * LANES + n) * term, a->patch_plane,
                                 LANES * term);
        }
    }
}

// ---- Gradients of the output ----

// One tile of one output, of which rows × columns exist.
INLINE void transform_gradient(const float *d, size_t row, int rows, int columns, float *to,
                               size_t plane) {
    vec half[TILE][PATCH];
    UNROLL for (int i = 0; i < TILE; i++) {
        vec line[TILE];
        UNROLL for (int j = 0; j < TILE; j++) line[j] =
            i < rows && j < columns ? vload(d + (size_t)i * row + (size_t)j * LANES) : vset(0.0f);
        transform_output_gradient(line, half[i]);
    }
    UNROLL for (int k = 0; k < PATCH; k++) {
        const vec column[TILE] = {half[0][k], half[1][k], half[2][k], half[3][k]};
        vec r[PATCH];
        transform_output_gradient(column, r);
        UNROLL for (int i = 0; i < PATCH; i++) vstore(to + (size_t)(i * PATCH + k) * plane, r[i]);
    }
}

static void load_gradients(const conv_weight_task *t, const layout *a, const tile_run *r,
                           int place) {
    for (int o = 0; o < t->dout.channels; o++)
        for (int i = 0; i < r->count; i++)
            for (int slice = 0; slice < LANES; slice += VL) {
                const int y = r->y * TILE, x = (r->x + i) * TILE;
                transform_gradient(t->dout.data + (size_t)o * t->dout.plane +
                                       (size_t)y * t->dout.row + (size_t)x * LANES + slice,
                                   t->dout.row, t->dout.height - y, t->dout.width - x,
                                   a->gradients + (size_t)o * TERMS + (size_t)(place + i) * LANES +
                                       slice,
                                   a->gradient_plane);
            }
}

// ---- Products ----

// sums[o][channels] (+)= over terms: gradients[o][term] · patches[term][channels].
INLINE void multiply(const float *gradients, const float *patches, float *sums, int terms,
                     bool more, const int OUTPUTS, const int COUNT) {
    vec sum[ROWS][VECTORS];
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int j = 0; j < COUNT; j++) sum[o][j] =
        more ? vload(sums + (o * COUNT + j) * VL) : vset(0.0f);
    for (int k = 0; k < terms; k++, patches += COUNT * VL) {
        vec v[VECTORS];
        UNROLL for (int j = 0; j < COUNT; j++) v[j] = vpin(vload(patches + j * VL));
        UNROLL for (int o = 0; o < OUTPUTS; o++) {
            const vec d = vset(gradients[o * TERMS + k]);
            UNROLL for (int j = 0; j < COUNT; j++) sum[o][j] = vfma(d, v[j], sum[o][j]);
        }
    }
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int j = 0; j < COUNT; j++)
        vstore(sums + (o * COUNT + j) * VL, sum[o][j]);
}

// One function per size: the sizes become constants, and the sums registers.
typedef void (*multiply_function)(const float *, const float *, float *, int, bool);
#define MULTIPLY(o, j)                                                                     \
    static __attribute__((noinline)) void multiply_##o##_##j(                              \
        const float *gradients, const float *patches, float *sums, int terms, bool more) { \
        multiply(gradients, patches, sums, terms, more, o, j);                             \
    }
#define MULTIPLY_ROWS(j) \
    MULTIPLY(1, j) MULTIPLY(2, j) MULTIPLY(3, j) MULTIPLY(4, j) MULTIPLY(5, j) MULTIPLY(6, j)
#define FUNCTIONS(j)                                                                      \
    NULL, multiply_1_##j, multiply_2_##j, multiply_3_##j, multiply_4_##j, multiply_5_##j, \
        multiply_6_##j
MULTIPLY_ROWS(1)
MULTIPLY_ROWS(2)
#if VL == 16
MULTIPLY_ROWS(4)
static const multiply_function functions[VECTORS + 1][ROWS + 1] = {
    {NULL}, {FUNCTIONS(1)}, {FUNCTIONS(2)}, {NULL}, {FUNCTIONS(4)}};
#else
static const multiply_function functions[VECTORS + 1][ROWS + 1] = {
    {NULL}, {FUNCTIONS(1)}, {FUNCTIONS(2)}};
#endif

static void multiply_all(const layout *a, int outputs, int tiles, bool more) {
    for (int p = 0; p < POINTS; p++)
        for (int first = 0, count; first < a->vectors; first += count) {
            count = vectors_from(a, first);
            const float *patches =
                a->patches + (size_t)p * a->patch_plane + (size_t)first * TERMS * VL;
            const float *gradients = a->gradients + (size_t)p * a->gradient_plane;
            float *sums = a->sums + (size_t)p * a->sum_plane + (size_t)(first * outputs) * VL;
            for (int o = 0, rows; o < outputs; o += rows) {
                // Eight outputs as 4 + 4, not 6 + 2.
                const int left = outputs - o, pieces = (left + ROWS - 1) / ROWS;
                rows = (left + pieces - 1) / pieces;
                functions[count][rows](gradients + (size_t)o * TERMS, patches,
                                       sums + o * count * VL, tiles * LANES, more);
            }
        }
}

// ---- The gradients ----

// Computes the gradients of VL channels from `c` on, for output o.
INLINE void finish(const conv_weight_task *t, const float *sums, size_t plane, int o, int c) {
    vec half[3][PATCH], g[9];
    UNROLL for (int k = 0; k < PATCH; k++) {
        vec s[PATCH], r[3];
        UNROLL for (int i = 0; i < PATCH; i++) s[i] = vload(sums + (size_t)(i * PATCH + k) * plane);
        transform_filter_gradient(s, r);
        UNROLL for (int i = 0; i < 3; i++) half[i][k] = r[i];
    }
    UNROLL for (int i = 0; i < 3; i++) transform_filter_gradient(half[i], g + 3 * i);
    float *dw = t->dw + ((size_t)o * (size_t)t->in.channels + (size_t)c) * 9;
    const int live = t->in.channels - c < VL ? t->in.channels - c : VL;
    for (int i = 0; i < live; i++)
        for (int k = 0; k < 9; k++, dw++) *dw = t->accumulate ? *dw + g[k][i] : g[k][i];
}

static void finish_all(const conv_weight_task *t, const layout *a) {
    const int outputs = t->dout.channels;
    for (int first = 0, count; first < a->vectors; first += count) {
        count = vectors_from(a, first);
        for (int o = 0; o < outputs; o++)
            for (int v = 0; v < count; v++)
                finish(t, a->sums + (size_t)(first * outputs + o * count + v) * VL, a->sum_plane, o,
                       (first + v) * VL);
    }
}

void KERNEL(winograd_weight)(const conv_weight_task *t) {
    const layout a = layout_of(t->in.channels, t->dout.channels, t->scratch);
    const tiling tiles = tiling_of(&t->dout);
    const int count = tiles.rows * tiles.columns;
    for (int first = 0; first < count; first += TILES) {
        const int end = first + TILES < count ? first + TILES : count;
        for (tile_run r = run_from(tiles, first, end); r.first < end;
             r = run_from(tiles, r.first + r.count, end)) {
            load_patches(t, &a, &r, r.first - first);
            load_gradients(t, &a, &r, r.first - first);
        }
        multiply_all(&a, t->dout.channels, end - first, first > 0);
    }
    finish_all(t, &a);
    if (t->db) KERNEL(conv_bias_gradient)(t);
}
