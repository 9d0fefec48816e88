// SPDX-License-Identifier: MIT
// positions.cuh - kernels with one thread per element of a result, in memory order: neighbouring
// threads take neighbouring samples of the same position. A shard's activation has fewer than 2^32
// elements.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_POSITIONS_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_POSITIONS_CUH

#include "compute/cuda/kernels/device.cuh"

enum { BLOCK = 256 };

// A thread's element of [channels][height][width][lanes].
typedef struct position {
    size_t plane; // index among all shards' channels
    int y, x;
    unsigned lane;
} position;

static __device__ position position_of(unsigned at, const cut &c, shape size) {
    const unsigned lanes = (unsigned)c.lanes;
    const unsigned width = (unsigned)size.width, height = (unsigned)size.height;
    const unsigned pixel = at / lanes, row = pixel / width;
    position p;
    p.plane = (size_t)shard_of_block(c) * (size_t)size.channels + row / height;
    p.y = (int)(row % height);
    p.x = (int)(pixel % width);
    p.lane = at % lanes;
    return p;
}

static __device__ size_t element(const position &p, const cut &c, shape size, int y, int x) {
    const size_t row = p.plane * (size_t)size.height + (size_t)y;
    return (row * (size_t)size.width + (size_t)x) * (size_t)c.lanes + p.lane;
}

static unsigned elements_of_shard(const cut *c, shape size) {
    return (unsigned)(shape_size(size) * (size_t)c->lanes);
}

static dim3 grid_of(const cut *c, unsigned elements) {
    return dim3(blocks_for(elements, BLOCK), 1, (unsigned)(c->end - c->first));
}

#endif
