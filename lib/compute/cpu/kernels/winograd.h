// SPDX-License-Identifier: MIT
// winograd.h - the transforms of F(4×4, 3×3), for winograd.c and winograd_weight.c (included only
// by these).
//
// A 3×3 correlation reads a patch of 6×6 inputs for a tile of 4×4 outputs. Winograd's algorithm
// transforms patch and filter into 6×6 values each, multiplies these element by element, sums over
// channels, and transforms the 36 sums into the 16 outputs: 36 multiplications instead of 144.
// (Winograd 1980; Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.)
//
// It evaluates polynomials at six points: 0, ±5/8, ±3/2, ∞, which are exact in binary and closer to
// 1 than the usual 0, ±1, ±2, ∞, so rounding loses less. The rounding error is still larger than
// that of the direct sum; tests/ops holds both to one tolerance.
//
// All transforms are one-dimensional, lane by lane, and applied to rows, then to columns.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_WINOGRAD_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_WINOGRAD_H

#include "simd.h"

enum {
    TILE = 4,         // outputs of a tile, each way
    PATCH = TILE + 2, // inputs of a tile, each way
    POINTS = PATCH * PATCH,
    TILES = WINOGRAD_TILES, // tiles that are processed together: a block
    PLANE_GAP = 80 // floats between planes of transformed values: avoids cache set conflicts
};

// The points ±WINOGRAD_A, ±WINOGRAD_B, and their squares.
#define WINOGRAD_A 0.625f
#define WINOGRAD_B 1.5f
#define SQUARE_A   (WINOGRAD_A * WINOGRAD_A)
#define SQUARE_B   (WINOGRAD_B * WINOGRAD_B)
// Lagrange factors of the filter's transform.
#define FACTOR_0 (1 / (SQUARE_A * SQUARE_B))
#define FACTOR_A (1 / (2 * SQUARE_A * (SQUARE_A - SQUARE_B)))
#define FACTOR_B (1 / (2 * SQUARE_B * (SQUARE_B - SQUARE_A)))

INLINE vec vscale(float factor, vec v) {
    return vset(factor) * v;
}
INLINE vec vadd_scaled(float factor, vec v, vec to) {
    return vfma(vset(factor), v, to);
}

// Keeps a loaded vector in a register: GCC 12 otherwise loads it again for every use.
INLINE vec vpin(vec v) {
#if (defined(__AVX512F__) || defined(__AVX2__)) && !defined(__clang__)
    __asm__("" : "+v"(v));
#endif
    return v;
}

// Six inputs to six values.
INLINE void transform_input(const vec d[PATCH], vec r[PATCH]) {
    const vec even_a = vadd_scaled(-SQUARE_B, d[2], d[4]);
    const vec odd_a = vscale(WINOGRAD_A, vadd_scaled(-SQUARE_B, d[1], d[3]));
    const vec even_b = vadd_scaled(-SQUARE_A, d[2], d[4]);
    const vec odd_b = vscale(WINOGRAD_B, vadd_scaled(-SQUARE_A, d[1], d[3]));
    r[0] = vadd_scaled(SQUARE_A * SQUARE_B, d[0], vadd_scaled(-(SQUARE_A + SQUARE_B), d[2], d[4]));
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = vadd_scaled(SQUARE_A * SQUARE_B, d[1], vadd_scaled(-(SQUARE_A + SQUARE_B), d[3], d[5]));
}

// Six sums of products to four outputs.
INLINE void transform_output(const vec s[PATCH], vec r[TILE]) {
    const vec sum_a = s[1] + s[2], difference_a = s[1] - s[2];
    const vec sum_b = s[3] + s[4], difference_b = s[3] - s[4];
    r[0] = s[0] + sum_a + sum_b;
    r[1] = vadd_scaled(WINOGRAD_B, difference_b, vscale(WINOGRAD_A, difference_a));
    r[2] = vadd_scaled(SQUARE_B, sum_b, vscale(SQUARE_A, sum_a));
    r[3] = vadd_scaled(SQUARE_B * WINOGRAD_B, difference_b,
                       vadd_scaled(SQUARE_A * WINOGRAD_A, difference_a, s[5]));
}

// Three filter weights to six values.
INLINE void transform_filter(const vec g[3], vec r[PATCH]) {
    const vec even_a = vadd_scaled(FACTOR_A * SQUARE_A, g[2], vscale(FACTOR_A, g[0]));
    const vec odd_a = vscale(FACTOR_A * WINOGRAD_A, g[1]);
    const vec even_b = vadd_scaled(FACTOR_B * SQUARE_B, g[2], vscale(FACTOR_B, g[0]));
    const vec odd_b = vscale(FACTOR_B * WINOGRAD_B, g[1]);
    r[0] = vscale(FACTOR_0, g[0]);
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = g[2];
}

// Four output gradients to six values: the transpose of transform_output.
INLINE void transform_output_gradient(const vec d[TILE], vec r[PATCH]) {
    const vec even_a = vadd_scaled(SQUARE_A, d[2], d[0]);
    const vec odd_a = vscale(WINOGRAD_A, vadd_scaled(SQUARE_A, d[3], d[1]));
    const vec even_b = vadd_scaled(SQUARE_B, d[2], d[0]);
    const vec odd_b = vscale(WINOGRAD_B, vadd_scaled(SQUARE_B, d[3], d[1]));
    r[0] = d[0];
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = d[3];
}

// Six sums of products to three weight gradients: the transpose of transform_filter.
INLINE void transform_filter_gradient(const vec s[PATCH], vec r[3]) {
    const vec sum_a = s[1] + s[2], difference_a = s[1] - s[2];
    const vec sum_b = s[3] + s[4], difference_b = s[3] - s[4];
    r[0] = vadd_scaled(FACTOR_0, s[0], vadd_scaled(FACTOR_A, sum_a, vscale(FACTOR_B, sum_b)));
    r[1] = vadd_scaled(FACTOR_A * WINOGRAD_A, difference_a,
                       vscale(FACTOR_B * WINOGRAD_B, difference_b));
    r[2] = vadd_scaled(FACTOR_A * SQUARE_A, sum_a, vadd_scaled(FACTOR_B * SQUARE_B, sum_b, s[5]));
}

// ---- Tiles of an image ----

// Tiles are numbered row by row, image after image. A run of them lies in one row and in one block.
typedef struct tile_run {
    int first, count; // of tiles
    int image, y, x;  // of the first tile; y and x in tiles
} tile_run;

typedef struct tiling {
    int rows, columns; // of tiles
} tiling;

// Of an output of this size.
static inline tiling tiling_of(int height, int width) {
    return (tiling){(height + TILE - 1) / TILE, (width + TILE - 1) / TILE};
}

// The run that begins with tile `first` and ends at tile `end` or at the end of its row.
static inline tile_run run_from(tiling t, int first, int end) {
    const int row = first / t.columns;
    tile_run r = {.first = first, .image = row / t.rows, .y = row % t.rows, .x = first % t.columns};
    const int left = t.columns - r.x;
    r.count = end - first < left ? end - first : left;
    return r;
}

// The rows of a patch: element x of row i is at row[i] + x·step[i]. Rows outside the image repeat
// one zero vector.
typedef struct patch_rows {
    const float *row[PATCH];
    size_t step[PATCH];
} patch_rows;

static const float zero_lanes[LANES] __attribute__((aligned(64)));

static inline patch_rows patch_rows_of(const view *in, int channel, int top, int rows) {
    patch_rows p;
    for (int i = 0; i < rows; i++) {
        const bool inside = top + i >= 0 && top + i < in->height;
        p.row[i] = inside ? in->data + (size_t)channel * in->plane + (size_t)(top + i) * in->row
                          : zero_lanes;
        p.step[i] = inside ? LANES : 0;
    }
    return p;
}

enum { RUN_COLUMNS = TILES * TILE + 2 }; // in the patches of a run

// The second half of the input transform of a run of tiles, along rows: point p of tile t goes to
// to + p·plane + t·next.
INLINE void transform_rows(const vec half[PATCH][RUN_COLUMNS], int tiles, float *to, size_t plane,
                           size_t next) {
    for (int i = 0; i < PATCH; i++)
        for (int t = 0; t < tiles; t++) {
            vec r[PATCH];
            transform_input(&half[i][t * TILE], r);
            UNROLL for (int k = 0; k < PATCH; k++)
                vstore(to + (size_t)(i * PATCH + k) * plane + (size_t)t * next, r[k]);
        }
}

#endif
