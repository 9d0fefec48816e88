// SPDX-License-Identifier: MIT
// winograd.h - tiles of images and their patches, for winograd.c and winograd_weight.c (included
// only by these). All transforms work lane by lane.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_WINOGRAD_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_WINOGRAD_H

#include "simd.h"

#include "compute/winograd_transforms.h" // of simd.h's vectors

enum {
    TILES = WINOGRAD_TILES, // tiles that are processed together: a block
    PLANE_GAP = 80 // floats between planes of transformed values: avoids cache set conflicts
};

// Keeps a loaded vector in a register: GCC 12 otherwise loads it again for every use.
INLINE vec vpin(vec v) {
#if (defined(__AVX512F__) || defined(__AVX2__)) && !defined(__clang__)
    __asm__("" : "+v"(v));
#endif
    return v;
}

// ---- Tiles of an image ----

// Tiles are numbered row by row, image after image. A run of them lies in one row and in one block.
typedef struct tile_run {
    int first, count; // of tiles
    int image, y, x;  // of the first tile; y and x in tiles
} tile_run;

typedef struct tiling {
    int rows, columns; // of tiles
    int height, width; // of the output
} tiling;

// Of an output of this size.
static inline tiling tiling_of(int height, int width) {
    return (tiling){.rows = (height + TILE - 1) / TILE,
                    .columns = (width + TILE - 1) / TILE,
                    .height = height,
                    .width = width};
}

// The run that begins with tile `first` and ends at tile `end` or at the end of its row.
static inline tile_run run_from(tiling t, int first, int end) {
    const int row = first / t.columns;
    tile_run r = {.first = first, .image = row / t.rows, .y = row % t.rows, .x = first % t.columns};
    const int left = t.columns - r.x;
    r.count = end - first < left ? end - first : left;
    return r;
}

// ---- Points that a tile needs ----

// The last point contributes to the last of four outputs alone (transform_output), so a tile with
// fewer rows or columns does without: 25 products instead of 36 if both are short.
static inline bool is_last(int point) {
    return point == PATCH - 1;
}

// Returns how many points a tile needs along an axis, on which `outputs` begin with its own.
static inline int points_along(int outputs) {
    return outputs < TILE ? PATCH - 1 : PATCH;
}

// Tiles of a block, by their places in it, in increasing order.
typedef struct tile_set {
    int count, place[TILES];
} tile_set;

// The tiles that need a point: [the point is the last along columns][along rows].
typedef struct needs {
    tile_set tiles[2][2];
} needs;

static inline needs needs_of(tiling t, int first, int end) {
    needs n = {0};
    for (int tile = first; tile < end; tile++) {
        const bool needs_y = points_along(t.height - tile / t.columns % t.rows * TILE) == PATCH;
        const bool needs_x = points_along(t.width - tile % t.columns * TILE) == PATCH;
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++) {
                tile_set *s = &n.tiles[y][x];
                if ((!y || needs_y) && (!x || needs_x)) s->place[s->count++] = tile - first;
            }
    }
    return n;
}

static inline const tile_set *tiles_that_need(const needs *n, int point) {
    return &n->tiles[is_last(point / PATCH)][is_last(point % PATCH)];
}

// Returns how many tiles from number i of the set on are neighbours in their block, at most `most`.
static inline int neighbours(const tile_set *s, int i, int most) {
    int n = 1;
    while (n < most && i + n < s->count && s->place[i + n] == s->place[i] + n) n++;
    return n;
}

// ---- Patches ----

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

// The second half of the input transform of a run of tiles, at the first `points` points along
// columns: point p of tile t goes to to + p·plane + t·next.
INLINE void transform_rows(const vec half[PATCH][RUN_COLUMNS], int points, int tiles, float *to,
                           size_t plane, size_t next) {
    for (int i = 0; i < points; i++)
        for (int t = 0; t < tiles; t++) {
            vec r[PATCH];
            transform_input(&half[i][t * TILE], r);
            UNROLL for (int k = 0; k < PATCH; k++)
                vstore(to + (size_t)(i * PATCH + k) * plane + (size_t)t * next, r[k]);
        }
}

#endif
