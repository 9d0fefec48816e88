// SPDX-License-Identifier: MIT
// exact_winograd.cuh - Winograd's algorithm in the order of the CPU's engine, for exact_winograd.cu
// and exact_winograd_weight.cu.
//
//     conv, conv_input     filters ──┐
//                          patches ──┴─ 36 products: sums over channels ─── outputs
//     conv_weight          patches ──┬─ 36 products: sums over tiles and samples ─── weights
//                          gradients ┘
//
// Unlike on a CPU, every step is a kernel of its own, and the transformed values lie in global
// memory, 36/16 of the activation's size. So a layer is computed in *portions*: some groups of
// samples, or some tiles of one group. A large portion has work for the whole device in each of its
// launches; that is worth more than values that stay in the second-level cache. (vgg's second
// convolution with batch 128 on an H200, portions of 32 and 128 MiB: forward 221 and 149 µs, weight
// gradient 723 and 288 µs.)
//
// A *column* of a portion is (group, tile, lane), lanes innermost; those of lanes past the shard's
// last one are zeros. Transformed values are [point][channel][column].
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_WINOGRAD_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_WINOGRAD_CUH

#include "compute/cuda/kernels/exact/exact.cuh"

// One value, for the transforms.
#define INLINE static __device__ __forceinline__
typedef float vec;
INLINE vec vset(float v) {
    return v;
}
INLINE vec vfma(vec a, vec b, vec c) {
    return fmaf(a, b, c);
}
#include "compute/winograd_transforms.h"

// The floats of a portion, if four tiles of a group are not more: 128 MiB. The emulation has less,
// so that small tests have several portions.
#ifndef PORTION_FLOATS
#define PORTION_FLOATS (1 << 25)
#endif

enum {
    PORTION_TILES = 4, // tiles of a part are a multiple, as a long sum needs it
    TRANSFORM_THREADS = 128
};

typedef struct portion {
    int lanes;             // of a shard
    int width;             // of a group: lanes that are computed
    int across, down;      // tiles of an image
    int first_group, end;  // the cut's groups: those of its first shard, of the second, …
    int groups;            // of this portion, at most
    int first_tile, tiles; // of each of them
} portion;

static __host__ __device__ __forceinline__ int columns_of(const portion &p) {
    return p.groups * p.tiles * p.width;
}

// ---- All portions of a cut ----

// Returns the first portion of images of `size` outputs. `column_floats` and `group_floats`: floats
// that a column and a group need.
static inline portion first_portion(const cut *c, shape size, size_t column_floats,
                                    size_t group_floats) {
    portion p = {};
    p.lanes = c->lanes;
    p.width = c->lanes < GROUP ? c->lanes : (int)GROUP;
    p.across = (size.width + TILE - 1) / TILE;
    p.down = (size.height + TILE - 1) / TILE;
    p.end = (c->end - c->first) * (int)groups_of(c->lanes);
    p.tiles = p.across * p.down;
    const size_t tile = (size_t)p.width * column_floats;
    const size_t group = (size_t)p.tiles * tile + group_floats;
    p.groups = (int)(PORTION_FLOATS / group);
    if (p.groups > p.end) p.groups = p.end;
    if (p.groups > 0) return p;
    p.groups = 1;
    const size_t left = PORTION_FLOATS > group_floats ? PORTION_FLOATS - group_floats : 0;
    size_t most = left / tile / PORTION_TILES * PORTION_TILES;
    if (most < PORTION_TILES) most = PORTION_TILES;
    if (most < (size_t)p.tiles) p.tiles = (int)most;
    return p;
}

// Returns the floats of the first portion, which is the largest. Without groups: 0.
static inline size_t portion_floats(const portion *p, size_t column_floats, size_t group_floats) {
    return (size_t)columns_of(*p) * column_floats + (size_t)p->groups * group_floats;
}

// Walks through the portions: tile by tile, then group by group. Returns false after the last one.
typedef struct portion_walk {
    portion now;
    int all_tiles, most_tiles, most_groups;
} portion_walk;

static inline portion_walk walk_from(const portion *first) {
    return {*first, first->across * first->down, first->tiles, first->groups};
}

static inline int at_most(int n, int most) {
    return n < most ? n : most;
}

static inline bool next_portion(portion_walk *w) {
    portion *p = &w->now;
    p->first_tile += p->tiles;
    if (p->first_tile == w->all_tiles) {
        p->first_tile = 0;
        p->first_group += p->groups;
    }
    p->tiles = at_most(w->all_tiles - p->first_tile, w->most_tiles);
    p->groups = at_most(p->end - p->first_group, w->most_groups);
    return p->groups > 0;
}

static inline bool is_last_of_image(const portion_walk *w) {
    return w->now.first_tile + w->now.tiles == w->all_tiles;
}

// ---- A column's place ----

struct column_place {
    size_t shard; // of the engine
    int sample;   // of the shard; it may have no lane: see `live`
    int y, x;     // of the tile's first output
    bool live;
};

static __device__ __forceinline__ column_place place_of_column(const cut &c, const portion &p,
                                                               int column) {
    const int rest = column / p.width, tile = p.first_tile + rest % p.tiles;
    const int group = p.first_group + rest / p.tiles, groups = (int)groups_of(p.lanes);
    column_place at;
    at.shard = (size_t)(c.first + group / groups);
    at.sample = group % groups * GROUP + column % p.width;
    at.y = tile / p.across * TILE;
    at.x = tile % p.across * TILE;
    at.live = at.sample < p.lanes;
    return at;
}

// A channel of an activation, of one sample.
struct channel_view {
    const float *from;
    int height, width, lanes;

    // Zero outside, and in all places without a sample (`from` NULL).
    __device__ __forceinline__ float at(int y, int x) const {
        if (!from || (unsigned)y >= (unsigned)height || (unsigned)x >= (unsigned)width) return 0;
        return from[(ptrdiff_t)(y * width + x) * lanes];
    }
};

static __device__ __forceinline__ channel_view channel_of(const float *activation, shape size,
                                                          int channel, const column_place &at,
                                                          int lanes) {
    const size_t plane = (size_t)size.height * (size_t)size.width * (size_t)lanes;
    const size_t index = at.shard * (size_t)size.channels + (size_t)channel;
    return {at.live ? activation + index * plane + at.sample : NULL, size.height, size.width,
            lanes};
}

// Writes 36 values, `next` floats apart.
static __device__ __forceinline__ void store_points(const vec (&point)[PATCH][PATCH], size_t next,
                                                    float *to) {
#pragma unroll
    for (int i = 0; i < PATCH; i++) {
#pragma unroll
        for (int k = 0; k < PATCH; k++) to[(size_t)(i * PATCH + k) * next] = point[i][k];
    }
}

// ---- Launching ----

// The patches of `size`'s channels, padded by pad_y rows and pad_x columns: to `to`.
void cuda_winograd_patches(launch_stream s, const cut *c, const portion *p, shape size, int pad_y,
                           int pad_x, const float *x, float *to);

#endif
