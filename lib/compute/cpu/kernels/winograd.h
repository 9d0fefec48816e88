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
