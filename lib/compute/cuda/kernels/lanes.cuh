// SPDX-License-Identifier: MIT
// lanes.cuh - access to four lanes at a time, and a thread's walk through a channel: for kernels
// that pass over an activation once.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_LANES_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_LANES_CUH

#include "compute/cuda/kernels/device.cuh"

// ---- Four lanes at a time ----

// Neighbouring lanes of one element; their number is a multiple of four (LANE_ROUND).
struct four {
    float v[LANE_ROUND];
};

static __device__ __forceinline__ four load_four(const float *p) {
    const float4 q = *reinterpret_cast<const float4 *>(p);
    return four{{q.x, q.y, q.z, q.w}};
}

static __device__ __forceinline__ void store_four(float *p, const four &f) {
    *reinterpret_cast<float4 *>(p) = make_float4(f.v[0], f.v[1], f.v[2], f.v[3]);
}

// Floats of a shard's activation, and of one of its channels. Indices within a shard have 32 bits:
// fewer than 2^32 floats, 16 GiB.
static __host__ __device__ __forceinline__ unsigned plane_floats(shape s, int lanes) {
    return (unsigned)s.height * (unsigned)s.width * (unsigned)lanes;
}

static __host__ __device__ __forceinline__ unsigned shard_floats(shape s, int lanes) {
    return (unsigned)s.channels * plane_floats(s, lanes);
}

// ---- The walk of a block's threads through a channel ----

// A thread takes groups of four floats, at a stride of the number of threads of the channel's
// blocks. The position among the lanes is tracked as well, which avoids a division.
struct channel_walk {
    unsigned at, lane; // floats from the channel's start; the first of the four lanes
    unsigned step, lane_step, lanes, plane;
    int samples;
};

static __device__ __forceinline__ channel_walk walk_begin(shape s, int lanes, int samples,
                                                          unsigned block, unsigned blocks) {
    const unsigned n = (unsigned)lanes, step = LANE_ROUND * blockDim.x * blocks;
    const unsigned at = LANE_ROUND * (block * blockDim.x + threadIdx.x);
    return channel_walk{at, at % n, step, step % n, n, plane_floats(s, lanes), samples};
}

// Returns how many of the four lanes, from the first on, have a sample; 0 or less: none, as past
// the end.
static __device__ __forceinline__ int walk_live(const channel_walk &w) {
    return w.at < w.plane ? w.samples - (int)w.lane : 0;
}

static __device__ __forceinline__ void walk_next(channel_walk *w) {
    w->at += w->step;
    w->lane += w->lane_step;
    if (w->lane >= w->lanes) w->lane -= w->lanes;
}

// Returns the number of threads of a block that sums over a channel: few enough that each takes
// several groups of four, because adding the threads' sums takes as long as reading.
static inline unsigned channel_threads(unsigned plane) {
    const unsigned fours_each = 4;
    unsigned threads = WARP;
    while (threads < MAX_THREADS && threads * fours_each * LANE_ROUND < plane) threads *= 2;
    return threads;
}

#endif
