// SPDX-License-Identifier: MIT
// load.cu - converts image bytes, image by image, to normalised floats, samples innermost; in
// training with augmentation on the way (compute/augmentation.h).
//
// Reading is fast if neighbouring threads take neighbouring pixels of an image, writing if they
// take neighbouring samples of a pixel. So a block transposes a tile of pixels × samples in shared
// memory: each of its warps reads images, then all of its threads write four samples of a pixel.
//
// Augmentation moves bytes before normalisation: it only changes where a byte is read, or if a list
// resamples, where four are. A block first makes the maps of its samples, one thread per map, and
// then follows them back from each pixel. Every tile of a sample makes its maps again: that takes
// work, but no launch and no memory.
#include "compute/augmentation.h"
#include "compute/cuda/kernels/device.cuh"

enum {
    WARPS = 8,   // of a block
    PIXELS = 64, // of a tile, all of one channel
    SAMPLES = 32,
    // Bytes from one sample of a tile to the next: an odd number of words, so that threads on the
    // same pixel of different samples access different memory banks.
    ROW = PIXELS + 4
};

// The part of a shard's input that a block transposes.
typedef struct part {
    int shard, channel;
    int pixel, pixels; // the first, and their number
    int lane, lanes;   // likewise
} part;

static __device__ int smaller(int a, int b) {
    return a < b ? a : b;
}

static __device__ part part_of_block(const cut &c, const load_task &t) {
    const int rows_of_tiles = (c.lanes + SAMPLES - 1) / SAMPLES;
    part p;
    p.shard = shard_of_block(c);
    p.channel = (int)blockIdx.y / rows_of_tiles;
    p.pixel = (int)blockIdx.x * PIXELS;
    p.pixels = smaller(PIXELS, t.size.height * t.size.width - p.pixel);
    p.lane = (int)blockIdx.y % rows_of_tiles * SAMPLES;
    p.lanes = smaller(SAMPLES, c.lanes - p.lane);
    return p;
}

// Returns the index of a part's first label, id and row.
static __device__ size_t first_sample(const cut &c, const part &p) {
    return (size_t)p.shard * (size_t)c.lanes + (size_t)p.lane;
}

// ---- Sources of bytes ----

// Sets maps[n][k], the map of list entry k for sample n of the tile.
static __device__ void make_maps(const cut &c, const load_task &t, const part &p,
                                 augment_map (*maps)[AUGMENT_MAX]) {
    const int samples = smaller(c.count[p.shard] - p.lane, p.lanes);
    const uint32_t *ids = t.ids + first_sample(c, p);
    for (int i = (int)thread_of_block(); i < samples * t.augment.count; i += WARP * WARPS) {
        const int n = i % samples, k = i / samples;
        augment_key key;
        key.seed = t.seed;
        key.epoch = t.numbers->epoch;
        key.id = ids[n];
        maps[n][k] = augment_map_of(&t.augment.items[k], &key, k, t.size);
    }
}

// Returns the start of channel p.channel of one image.
static __device__ const uint8_t *plane_of(const load_task &t, const part &p, uint32_t image) {
    const size_t plane = (size_t)t.size.height * (size_t)t.size.width;
    return t.images + ((size_t)image * (size_t)t.size.channels + (size_t)p.channel) * plane;
}

enum augmented { PLAIN, MOVED, RESAMPLED };

// Returns a pixel of the plane, augmented.
template <augmented HOW>
static __device__ uint8_t byte_of(const load_task &t, const part &p, const augment_map *maps,
                                  const uint8_t *bytes, int pixel) {
    if (HOW == PLAIN) return bytes[pixel];
    const augment_plane plane = {&t.augment, maps, t.size, p.channel, bytes};
    const int y = pixel / t.size.width, x = pixel % t.size.width;
    if (HOW == MOVED) return augment_moved(&plane, t.augment.count, y, x);
    return augment_pixel(&plane, y, x);
}

// ---- A tile ----

// Lanes without a sample become black, because `rows` has no entry for them. A thread issues all of
// its reads before it waits for the first.
template <augmented HOW>
static __device__ void read_tile(const cut &c, const load_task &t, const part &p,
                                 const augment_map (*maps)[AUGMENT_MAX], uint8_t (*tile)[ROW]) {
    const int samples = c.count[p.shard] - p.lane;
    const uint32_t *rows = t.rows + first_sample(c, p);
    const int n0 = (int)threadIdx.y, i0 = (int)threadIdx.x;
    const uint8_t *plane[SAMPLES / WARPS];
    for (int k = 0; k < SAMPLES / WARPS; k++) {
        const int n = n0 + k * WARPS;
        plane[k] = n < samples ? plane_of(t, p, rows[n]) : NULL;
    }
    uint8_t bytes[SAMPLES / WARPS][PIXELS / WARP];
    for (int k = 0; k < SAMPLES / WARPS; k++)
        for (int j = 0; j < PIXELS / WARP; j++) {
            const int i = i0 + j * WARP, pixel = p.pixel + i;
            bytes[k][j] = 0;
            if (plane[k] && i < p.pixels)
                bytes[k][j] = byte_of<HOW>(t, p, maps[n0 + k * WARPS], plane[k], pixel);
        }
    for (int k = 0; k < SAMPLES / WARPS; k++)
        for (int j = 0; j < PIXELS / WARP; j++) tile[n0 + k * WARPS][i0 + j * WARP] = bytes[k][j];
}

static __device__ void write_tile(const cut &c, const load_task &t, const part &p,
                                  const uint8_t (*tile)[ROW]) {
    const size_t plane = (size_t)t.size.height * (size_t)t.size.width, lanes = (size_t)c.lanes;
    const size_t channel = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    float *to = t.x + (channel * plane + (size_t)p.pixel) * lanes + (size_t)p.lane;
    const float scale = t.scale[p.channel], shift = t.shift[p.channel];
    const int quads = p.lanes / 4;
    for (int i = (int)thread_of_block(); i < p.pixels * quads; i += WARP * WARPS) {
        const int pixel = i / quads, n = i % quads * 4;
        const float4 v = {fmaf((float)tile[n][pixel], scale, shift),
                          fmaf((float)tile[n + 1][pixel], scale, shift),
                          fmaf((float)tile[n + 2][pixel], scale, shift),
                          fmaf((float)tile[n + 3][pixel], scale, shift)};
        *reinterpret_cast<float4 *>(to + (size_t)pixel * lanes + n) = v;
    }
}

template <augmented HOW>
static __global__ void __launch_bounds__(WARP *WARPS) load(cut c, load_task t) {
    wait_for_kernels_before();
    __shared__ uint8_t tile[SAMPLES][ROW];
    __shared__ augment_map maps[HOW == PLAIN ? 1 : SAMPLES][AUGMENT_MAX];
    const part p = part_of_block(c, t);
    if (HOW != PLAIN) {
        make_maps(c, t, p, maps);
        __syncthreads();
    }
    read_tile<HOW>(c, t, p, maps, tile);
    __syncthreads();
    write_tile(c, t, p, tile);
}

static bool resamples(const augment_list *list) {
    for (int k = 0; k < list->count; k++)
        if (list->items[k].kind == AUGMENT_RESIZED_CROP) return true;
    return false;
}

void cuda_load(launch_stream s, const cut *c, const load_task *t) {
    if (c->first >= c->end) return;
    const size_t plane = (size_t)t->size.height * (size_t)t->size.width;
    const unsigned rows_of_tiles = blocks_for((size_t)c->lanes, SAMPLES);
    const dim3 grid(blocks_for(plane, PIXELS), (unsigned)t->size.channels * rows_of_tiles,
                    (unsigned)(c->end - c->first));
    if (t->augment.count == 0)
        LAUNCH(load<PLAIN>, grid, dim3(WARP, WARPS), s, *c, *t);
    else if (resamples(&t->augment))
        LAUNCH(load<RESAMPLED>, grid, dim3(WARP, WARPS), s, *c, *t);
    else
        LAUNCH(load<MOVED>, grid, dim3(WARP, WARPS), s, *c, *t);
}
