// SPDX-License-Identifier: MIT
// Weight gradient of a 3×3 convolution with stride 1, by Winograd's F(4×4, 3×3).
//
// The transposed algorithm: input patches are transformed as in the forward pass, tiles of the
// output gradient are transformed into 6×6 values, the products of both are summed over tiles and
// samples, and the 36 sums are transformed into the 9 gradients. To avoid sums across lanes, the
// patches are transposed: their lanes are input channels, and the values of the gradient are
// scalars, tile after tile, sample after sample.
//
// The sums are computed in *pieces*: some outputs times a block of input channels, all 36 points.
// Between the blocks of an image, its pieces are stored in the thread's scratch memory; if the
// image is a single block, each piece is transformed at once, while it is in the cache. The sums
// belong to one group, so their order depends only on the layer's shape. In large images a block is
// a part of a long sum (layer_sums.h).
#include "compute/layer_sums.h"
#include "winograd.h"

enum {
    ROWS = 6,                          // outputs of a product in registers
    VECTORS = REGISTERS == 32 ? 4 : 2, // vectors of channels, likewise: 24 sums, or 12
    TERMS = TILES * LANES,             // of a sum within a block
    PIECE_OUTPUTS = 4 * ROWS,          // these products read the same patches from the L1 cache
    PIECE_PLANE = PIECE_OUTPUTS * VECTORS * VL,
    PIECE = POINTS * PIECE_PLANE, // floats
};

// Sizes in floats, and the places in scratch memory.
typedef struct layout {
    int vectors; // of input channels
    size_t patch_plane, gradient_plane;
    size_t sum_floats; // one piece, if the image is one block: it is used at once
    float *patches;    // [point][vector block][term][vector of the block][VL channels]
    float *gradients;  // [point][output][term]
    float *sums;       // [vector block][piece of outputs][point][output][vector][VL channels]
    float *turned;     // [patch row][column of the run][sample][VL channels]
} layout;

static int pieces_of(int outputs) {
    return (outputs + PIECE_OUTPUTS - 1) / PIECE_OUTPUTS;
}

static layout layout_of(int channels, int outputs, int tiles, float *scratch) {
    layout a = {.vectors = (channels + VL - 1) / VL};
    // As vectors_from takes them: three are left as 2 + 1.
    const int blocks = a.vectors / VECTORS + (a.vectors % VECTORS + 1) / 2;
    a.patch_plane = (size_t)a.vectors * TERMS * VL + PLANE_GAP;
    a.gradient_plane = (size_t)outputs * TERMS + PLANE_GAP;
    a.sum_floats = (tiles <= TILES ? 1 : (size_t)(blocks * pieces_of(outputs))) * PIECE;
    a.patches = scratch;
    a.gradients = a.patches + POINTS * a.patch_plane;
    a.sums = a.gradients + POINTS * a.gradient_plane;
    a.turned = a.sums + a.sum_floats;
    return a;
}

size_t KERNEL(winograd_weight_scratch)(const layer *l) {
    static float origin[1];
    const tiling t = tiling_of(l->out.height, l->out.width);
    const layout a = layout_of(l->in.channels, l->out.channels, t.rows * t.columns, origin);
    return (size_t)(a.turned - origin) + PATCH * RUN_COLUMNS * LANES * VL;
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

// Input transform of one sample of `turned`, at the first `points` points along columns.
static void transform_sample(const float *turned, int points, int tiles, float *to, size_t plane,
                             size_t next) {
    vec half[PATCH][RUN_COLUMNS];
    for (int j = 0; j < tiles * TILE + 2; j++) {
        vec d[PATCH], h[PATCH];
        UNROLL for (int i = 0; i < PATCH; i++) d[i] =
            vload(turned + (size_t)(i * RUN_COLUMNS + j) * LANES * VL);
        transform_input(d, h);
        UNROLL for (int i = 0; i < PATCH; i++) half[i][j] = h[i];
    }
    transform_rows(half, points, tiles, to, plane, next);
}

// Vectors [begin, end) of channels. `place`: index of the run's first tile in the block.
static void load_patches(const conv_weight_task *t, const layout *a, const tile_run *r, int place,
                         int begin, int end) {
    const int points = points_along(t->dout.height - r->y * TILE);
    for (int first = 0, count; first < a->vectors; first += count) {
        count = vectors_from(a, first);
        const size_t term = (size_t)count * VL;
        for (int v = imax(first, begin); v < imin(first + count, end); v++) {
            turn_patches(t, r, v * VL, a->turned);
            float *to = a->patches + (size_t)first * TERMS * VL + (size_t)(v - first) * VL;
            for (int n = 0; n < LANES; n++)
                transform_sample(a->turned + n * VL, points, r->count,
                                 to + (size_t)(place * LANES + n) * term, a->patch_plane,
                                 LANES * term);
        }
    }
}

// ---- Gradients of the output ----

// One tile of one output, of which rows × columns exist.
INLINE void transform_gradient(const float *d, size_t row, int rows, int columns, float *to,
                               size_t plane) {
    const int points = points_along(rows);
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
        UNROLL for (int i = 0; i < PATCH; i++) if (i < points)
            vstore(to + (size_t)(i * PATCH + k) * plane, r[i]);
    }
}

// Of outputs [begin, end).
static void load_gradients(const conv_weight_task *t, const layout *a, const tile_run *r, int place,
                           int begin, int end) {
    for (int o = begin; o < end; o++)
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

// What a block of tiles does with the sums of the blocks before it.
typedef enum block_sums {
    SUMS_BEGIN,    // there are none
    SUMS_CONTINUE, // its terms are added one after another
    SUMS_ADD       // the sum of its terms is added
} block_sums;

// sums[o][channels] = over terms: gradients[o][term] · patches[term][channels], or likewise +=.
INLINE void multiply(const float *gradients, const float *patches, float *sums, int terms,
                     block_sums before, const int OUTPUTS, const int COUNT) {
    vec sum[ROWS][VECTORS];
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int j = 0; j < COUNT; j++) sum[o][j] =
        before == SUMS_CONTINUE ? vload(sums + (o * COUNT + j) * VL) : vset(0.0f);
    for (int k = 0; k < terms; k++, patches += COUNT * VL) {
        vec v[VECTORS];
        UNROLL for (int j = 0; j < COUNT; j++) v[j] = vpin(vload(patches + j * VL));
        UNROLL for (int o = 0; o < OUTPUTS; o++) {
            const vec d = vset(gradients[o * TERMS + k]);
            UNROLL for (int j = 0; j < COUNT; j++) sum[o][j] = vfma(d, v[j], sum[o][j]);
        }
    }
    UNROLL for (int o = 0; o < OUTPUTS; o++) UNROLL for (int j = 0; j < COUNT; j++) {
        float *to = sums + (o * COUNT + j) * VL;
        vstore(to, before == SUMS_ADD ? vload(to) + sum[o][j] : sum[o][j]);
    }
}

// One function per size: the sizes become constants, and the sums registers.
typedef void (*multiply_function)(const float *, const float *, float *, int, block_sums);
#define MULTIPLY(o, j)                                                                             \
    static __attribute__((noinline)) void multiply_##o##_##j(                                      \
        const float *gradients, const float *patches, float *sums, int terms, block_sums before) { \
        multiply(gradients, patches, sums, terms, before, o, j);                                   \
    }
#define MULTIPLY_ROWS(j) \
    MULTIPLY(1, j) MULTIPLY(2, j) MULTIPLY(3, j) MULTIPLY(4, j) MULTIPLY(5, j) MULTIPLY(6, j)
#define FUNCTIONS(j)                                                                      \
    NULL, multiply_1_##j, multiply_2_##j, multiply_3_##j, multiply_4_##j, multiply_5_##j, \
        multiply_6_##j
MULTIPLY_ROWS(1)
MULTIPLY_ROWS(2)
#if REGISTERS == 32
MULTIPLY_ROWS(4)
static const multiply_function functions[VECTORS + 1][ROWS + 1] = {
    {NULL}, {FUNCTIONS(1)}, {FUNCTIONS(2)}, {NULL}, {FUNCTIONS(4)}};
#else
static const multiply_function functions[VECTORS + 1][ROWS + 1] = {
    {NULL}, {FUNCTIONS(1)}, {FUNCTIONS(2)}};
#endif

// Outputs [first, end), which belong to one piece, and `count` vectors of channels. A point's terms
// are those of the tiles that need it, and of any between them, whose gradients are zero there.
static void multiply_piece(const layout *a, const needs *n, int vector, int count, int first,
                           int end, block_sums before, float *sums) {
    for (int p = 0; p < POINTS; p++, sums += PIECE_PLANE) {
        const tile_set *tiles = tiles_that_need(n, p);
        if (!tiles->count && before != SUMS_BEGIN) continue;
        const int from = tiles->place[0] * LANES;
        const int terms = tiles->count ? (tiles->place[tiles->count - 1] + 1) * LANES - from : 0;
        const float *patches = a->patches + (size_t)p * a->patch_plane +
                               ((size_t)vector * TERMS + (size_t)(from * count)) * VL;
        const float *gradients = a->gradients + (size_t)p * a->gradient_plane + from;
        for (int o = first, rows; o < end; o += rows) {
            // Eight outputs as 4 + 4, not 6 + 2.
            const int left = end - o, parts = (left + ROWS - 1) / ROWS;
            rows = (left + parts - 1) / parts;
            functions[count][rows](gradients + (size_t)o * TERMS, patches,
                                   sums + (o - first) * count * VL, terms, before);
        }
    }
}

// ---- The gradients ----

// Computes the gradients of VL channels from `c` on, for output o.
INLINE void finish(const conv_weight_task *t, const float *sums, int o, int c) {
    vec half[3][PATCH], g[9];
    UNROLL for (int k = 0; k < PATCH; k++) {
        vec s[PATCH], r[3];
        UNROLL for (int i = 0; i < PATCH; i++) s[i] = vload(sums + (i * PATCH + k) * PIECE_PLANE);
        transform_filter_gradient(s, r);
        UNROLL for (int i = 0; i < 3; i++) half[i][k] = r[i];
    }
    UNROLL for (int i = 0; i < 3; i++) transform_filter_gradient(half[i], g + 3 * i);
    float *dw = t->dw + ((size_t)o * (size_t)t->in.channels + (size_t)c) * 9;
    const int live = t->in.channels - c < VL ? t->in.channels - c : VL;
    for (int i = 0; i < live; i++)
        for (int k = 0; k < 9; k++, dw++) *dw = t->accumulate ? *dw + g[k][i] : g[k][i];
}

// Adds a block of tiles to the sums of outputs [begin, end). After the last block, transforms them.
static void sum_block(const conv_weight_task *t, const layout *a, const needs *n, block_sums before,
                      bool last, int begin, int end) {
    const size_t next = a->sum_floats == PIECE ? 0 : PIECE;
    float *sums = a->sums;
    for (int vector = 0, count; vector < a->vectors; vector += count) {
        count = vectors_from(a, vector);
        for (int first = begin; first < end; first += PIECE_OUTPUTS, sums += next) {
            const int stop = imin(first + PIECE_OUTPUTS, end);
            multiply_piece(a, n, vector, count, first, stop, before, sums);
            for (int i = 0; last && i < (stop - first) * count; i++)
                finish(t, sums + i * VL, first + i / count, (vector + i % count) * VL);
        }
    }
}

// ---- Blocks of tiles ----

typedef struct tile_block {
    tiling tiles;
    int all, first, end; // tiles of the image, of the block
} tile_block;

static tile_block block_at(const conv_weight_task *t, int number) {
    tile_block b = {.tiles = tiling_of(t->dout.height, t->dout.width)};
    b.all = b.tiles.rows * b.tiles.columns;
    b.first = number * TILES;
    b.end = imin(b.first + TILES, b.all);
    return b;
}

int KERNEL(winograd_weight_blocks)(const conv_weight_task *t) {
    return (block_at(t, 0).all + TILES - 1) / TILES;
}

// A slice has some tiles and some vectors of channels.
void KERNEL(winograd_weight_patches)(const conv_weight_task *t, int block, op_slice s,
                                     float *patches) {
    const tile_block b = block_at(t, block);
    layout a = layout_of(t->in.channels, t->dout.channels, b.all, t->scratch);
    const slice_area own = slice_area_of(s, b.end - b.first, a.vectors);
    const int end = b.first + own.rows.end;
    a.patches = patches;
    for (tile_run r = run_from(b.tiles, b.first + own.rows.first, end); r.first < end;
         r = run_from(b.tiles, r.first + r.count, end))
        load_patches(t, &a, &r, r.first - b.first, own.columns.first, own.columns.end);
}

void KERNEL(winograd_weight_sums)(const conv_weight_task *t, int block, int first, int end,
                                  float *patches) {
    const block_sums later = is_long_sum(t->dout.height, t->dout.width) ? SUMS_ADD : SUMS_CONTINUE;
    const tile_block b = block_at(t, block);
    layout a = layout_of(t->in.channels, t->dout.channels, b.all, t->scratch);
    const needs n = needs_of(b.tiles, b.first, b.end);
    a.patches = patches;
    for (tile_run r = run_from(b.tiles, b.first, b.end); r.first < b.end;
         r = run_from(b.tiles, r.first + r.count, b.end))
        load_gradients(t, &a, &r, r.first - b.first, first, end);
    sum_block(t, &a, &n, block > 0 ? later : SUMS_BEGIN, b.end == b.all, first, end);
    if (b.end < b.all || !t->db) return;
    conv_weight_task own = *t;
    own.dout = view_part(t->dout, (slice_area){{0, t->dout.height}, {first, end}});
    own.db += first;
    KERNEL(conv_bias_gradient)(&own);
}

void KERNEL(winograd_weight)(const conv_weight_task *t) {
    for (int block = 0; block < KERNEL(winograd_weight_blocks)(t); block++) {
        KERNEL(winograd_weight_patches)(t, block, SLICE_WHOLE, t->scratch);
        KERNEL(winograd_weight_sums)(t, block, 0, t->dout.channels, t->scratch);
    }
}
