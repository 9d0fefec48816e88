// SPDX-License-Identifier: MIT
// 3×3 convolution with stride 1, forward and input gradient, by Winograd's F(4×4, 3×3).
//
// Works on a block of four tiles at a time, which may belong to several images: those of as many
// groups of samples. First all channels of the block's patches are
// transformed. Then, for 16 outputs at a time so that sums and outputs stay in the L2 cache, come
// the products, summed over channels in order, and the output transform. The transformed weights
// are streamed once per block. The output of a tile depends on its own patch alone.
#include "winograd.h"

enum {
    OUTPUTS = WINOGRAD_OUTPUTS, // outputs whose sums are held at once
    OUTPUT_BLOCK = 4,           // in registers
    TILE_BLOCK =
        REGISTERS == 32 ? TILES : TILES / 2, // likewise: 16 sums in 32 registers, or 8 in 16
};

// Distance in floats between the planes of two points: of the patches, of the sums.
static size_t patch_plane(int channels) {
    return (size_t)channels * TILES * LANES + PLANE_GAP;
}
static const size_t sum_plane = OUTPUTS * TILES * LANES + PLANE_GAP;

size_t KERNEL(winograd_scratch)(const layer *l) {
    const int channels = l->in.channels > l->out.channels ? l->in.channels : l->out.channels;
    const size_t floats = POINTS * (patch_plane(channels) + sum_plane);
    const size_t weight = KERNEL(winograd_weight_scratch)(l);
    return floats > weight ? floats : weight;
}

// ---- Weights ----

// Element k of the filter from channel c to output o, as the correlation reads it.
static float filter_weight(const layer *l, const float *weight, bool transpose, int o, int c,
                           int k) {
    const int row = transpose ? c : o, column = transpose ? o : c, at = transpose ? 8 - k : k;
    return weight[(row * l->in.channels + column) * 9 + at];
}

// VL filters, from channel c to outputs o, o + 1, …, of which some may not exist.
static void pack_filters(const vec g[9], float *to, size_t plane) {
    vec half[3][PATCH];
    UNROLL for (int y = 0; y < 3; y++) transform_filter(g + 3 * y, half[y]);
    UNROLL for (int k = 0; k < PATCH; k++) {
        const vec column[3] = {half[0][k], half[1][k], half[2][k]};
        vec r[PATCH];
        transform_filter(column, r);
        UNROLL for (int i = 0; i < PATCH; i++) vstore(to + (size_t)(i * PATCH + k) * plane, r[i]);
    }
}

void KERNEL(winograd_pack)(const layer *l, const float *weight, bool transpose, int first, int end,
                           float *packed) {
    const int outputs = transpose ? l->in.channels : l->out.channels;
    const int channels = transpose ? l->out.channels : l->in.channels;
    const size_t plane = (size_t)channels * OUTPUTS;
    for (int block = first; block < end; block++)
        for (int c = 0; c < channels; c++)
            for (int lane = 0; lane < OUTPUTS; lane += VL) {
                vec g[9];
                for (int k = 0; k < 9; k++)
                    for (int i = 0; i < VL; i++) {
                        const int o = block * OUTPUTS + lane + i;
                        g[k][i] = o < outputs ? filter_weight(l, weight, transpose, o, c, k) : 0.0f;
                    }
                pack_filters(g, packed + (size_t)block * POINTS * plane + c * OUTPUTS + lane,
                             plane);
            }
}

// ---- Patches ----

// Transforms the patches of a run of tiles in one channel, VL samples from `slice` on.
INLINE void load_patches(const conv_task *t, const tile_run *r, int c, int slice, float *to,
                         size_t plane) {
    const patch_rows rows = patch_rows_of(&t->in, c, r->y * TILE - t->pad_y, PATCH);
    const int left = r->x * TILE - t->pad_x;
    vec half[PATCH][RUN_COLUMNS];
    for (int j = 0; j < r->count * TILE + 2; j++) {
        const int x = left + j;
        const bool inside = x >= 0 && x < t->in.width;
        vec d[PATCH], h[PATCH];
        UNROLL for (int i = 0; i < PATCH; i++) d[i] =
            inside ? vload(rows.row[i] + (size_t)x * rows.step[i] + slice) : vset(0.0f);
        transform_input(d, h);
        UNROLL for (int i = 0; i < PATCH; i++) half[i][j] = h[i];
    }
    transform_rows(half, points_along(t->out.height - r->y * TILE), r->count, to, plane, VL);
}

// ---- Products ----

// OUTPUT_BLOCK outputs, COUNT tiles: sums over channels.
INLINE void multiply(const float *weights, const float *patches, float *sums, int channels,
                     const int COUNT) {
    vec sum[OUTPUT_BLOCK][TILE_BLOCK];
    UNROLL for (int o = 0; o < OUTPUT_BLOCK; o++) UNROLL for (int i = 0; i < COUNT; i++) sum[o][i] =
        vset(0.0f);
    for (int c = 0; c < channels; c++, weights += OUTPUTS, patches += TILES * VL) {
        vec v[TILE_BLOCK];
        UNROLL for (int i = 0; i < COUNT; i++) v[i] = vpin(vload(patches + i * VL));
        UNROLL for (int o = 0; o < OUTPUT_BLOCK; o++) {
            const vec w = vset(weights[o]);
            UNROLL for (int i = 0; i < COUNT; i++) sum[o][i] = vfma(w, v[i], sum[o][i]);
        }
    }
    UNROLL for (int o = 0; o < OUTPUT_BLOCK; o++) UNROLL for (int i = 0; i < COUNT; i++)
        vstore(sums + (o * TILES + i) * VL, sum[o][i]);
}

// One function per number of tiles: it becomes a constant, and the sums registers.
typedef void (*multiply_function)(const float *, const float *, float *, int);
#define MULTIPLY(n)                                                                                \
    static __attribute__((noinline)) void multiply_##n(const float *weights, const float *patches, \
                                                       float *sums, int channels) {                \
        multiply(weights, patches, sums, channels, n);                                             \
    }
MULTIPLY(1)
MULTIPLY(2)
#if REGISTERS == 32
MULTIPLY(3)
MULTIPLY(4)
static const multiply_function functions[TILE_BLOCK + 1] = {NULL, multiply_1, multiply_2,
                                                            multiply_3, multiply_4};
#else
static const multiply_function functions[TILE_BLOCK + 1] = {NULL, multiply_1, multiply_2};
#endif

static void multiply_all(const conv_task *t, const needs *n, const float *weights, int live,
                         const float *patches, float *sums) {
    const size_t plane = patch_plane(t->in.channels);
    for (int p = 0; p < POINTS; p++, weights += (size_t)t->in.channels * OUTPUTS) {
        const tile_set *tiles = tiles_that_need(n, p);
        for (int i = 0, count; i < tiles->count; i += count) {
            count = neighbours(tiles, i, TILE_BLOCK);
            const size_t place = (size_t)tiles->place[i] * VL;
            for (int o = 0; o < live; o += OUTPUT_BLOCK)
                functions[count](weights + o, patches + (size_t)p * plane + place,
                                 sums + (size_t)p * sum_plane + o * TILES * VL + place,
                                 t->in.channels);
        }
    }
}

// ---- Outputs ----

// Stores one tile of one output. Its first element goes to `out`; rows × columns of it exist. The
// others are computed from sums that may be those of another block.
INLINE void store_tile(const float *sums, vec bias, float *out, size_t row, int rows, int columns) {
    vec half[TILE][PATCH];
    UNROLL for (int k = 0; k < PATCH; k++) {
        vec s[PATCH], h[TILE];
        UNROLL for (int i = 0; i < PATCH; i++) s[i] =
            vload(sums + (size_t)(i * PATCH + k) * sum_plane);
        transform_output(s, h);
        UNROLL for (int i = 0; i < TILE; i++) half[i][k] = h[i];
    }
    UNROLL for (int i = 0; i < TILE; i++) {
        vec r[TILE];
        transform_output(half[i], r);
        if (i >= rows) break;
        UNROLL for (int j = 0; j < TILE; j++) if (j < columns)
            vstore(out + (size_t)i * row + (size_t)j * LANES, r[j] + bias);
    }
}

static void store_run(const conv_task *t, const tile_run *r, int place, int first, int live,
                      int slice, const float *sums) {
    for (int o = 0; o < live; o++) {
        const vec bias = vset(t->bias ? t->bias[first + o] : 0.0f);
        for (int i = 0; i < r->count; i++) {
            const int y = r->y * TILE, x = (r->x + i) * TILE;
            float *out = t->out.data + (size_t)(first + o) * t->out.plane + (size_t)y * t->out.row +
                         (size_t)x * LANES + slice;
            store_tile(sums + (o * TILES + place + i) * VL, bias, out, t->out.row,
                       t->out.height - y, t->out.width - x);
        }
    }
}

// ---- The whole convolution ----

// A block of tiles, in VL of the samples.
typedef struct tile_block {
    tiling tiles;
    int first, end, slice;
} tile_block;

static int tile_blocks(tiling t, int images) {
    return (images * t.rows * t.columns + TILES - 1) / TILES;
}

static tile_block block_at(const conv_task *t, int count, int number) {
    tile_block b = {.tiles = tiling_of(t->out.height, t->out.width)};
    const int all = count * b.tiles.rows * b.tiles.columns, blocks = tile_blocks(b.tiles, count);
    b.first = number % blocks * TILES;
    b.end = b.first + TILES < all ? b.first + TILES : all;
    b.slice = number / blocks * VL;
    return b;
}

int KERNEL(winograd_blocks)(const conv_task *t, int count) {
    return LANE_SLICES * tile_blocks(tiling_of(t->out.height, t->out.width), count);
}

void KERNEL(winograd_patches)(const conv_task *tasks, int count, int block, int first, int end,
                              float *patches) {
    const tile_block b = block_at(tasks, count, block);
    const size_t plane = patch_plane(tasks->in.channels);
    for (tile_run r = run_from(b.tiles, b.first, b.end); r.first < b.end;
         r = run_from(b.tiles, r.first + r.count, b.end))
        for (int c = first; c < end; c++)
            load_patches(&tasks[r.image], &r, c, b.slice,
                         patches + (c * TILES + r.first - b.first) * VL, plane);
}

void KERNEL(winograd_outputs)(const conv_task *tasks, int count, int block, int first, int end,
                              const float *patches) {
    const conv_task *t = tasks;
    const tile_block b = block_at(tasks, count, block);
    const needs n = needs_of(b.tiles, b.first, b.end);
    float *sums = t->scratch + POINTS * patch_plane(t->in.channels);
    for (int o = first * OUTPUTS; o < imin(end * OUTPUTS, t->out.channels); o += OUTPUTS) {
        const int live = imin(t->out.channels - o, OUTPUTS);
        multiply_all(t, &n, t->packed + (size_t)o * POINTS * (size_t)t->in.channels, live, patches,
                     sums);
        for (tile_run r = run_from(b.tiles, b.first, b.end); r.first < b.end;
             r = run_from(b.tiles, r.first + r.count, b.end))
            store_run(&tasks[r.image], &r, r.first - b.first, o, live, b.slice, sums);
    }
}

void KERNEL(winograd)(const conv_task *tasks, int count, int first, int end) {
    const int outputs = (tasks->out.channels + OUTPUTS - 1) / OUTPUTS;
    for (int block = first; block < end; block++) {
        KERNEL(winograd_patches)(tasks, count, block, 0, tasks->in.channels, tasks->scratch);
        KERNEL(winograd_outputs)(tasks, count, block, 0, outputs, tasks->scratch);
    }
}
