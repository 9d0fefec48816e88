// lanes.cuh - four lanes at a time, and the way of a thread through a channel: for the kernels that
// go over an activation once.
#ifndef LOCKSTEP_COMPUTE_CUDA_LANES_CUH
#define LOCKSTEP_COMPUTE_CUDA_LANES_CUH

#include "compute/cuda/device.cuh"

// ---- Four lanes at a time ----

// Neighbouring lanes of one element; there is always a multiple of four (LANE_ROUND).
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

// Floats of a shard's activation, and of one of its channels. They are indexed with 32 bits inside
// of a shard: below 2^32 floats, 16 GiB.
static __host__ __device__ __forceinline__ unsigned plane_floats(shape s, int lanes) {
    return (unsigned)s.height * (unsigned)s.width * (unsigned)lanes;
}

static __host__ __device__ __forceinline__ unsigned shard_floats(shape s, int lanes) {
    return (unsigned)s.channels * plane_floats(s, lanes);
}

// ---- Through a channel, by the threads of its blocks ----

// A thread takes every four of a channel that lies as many apart as its blocks have threads. Where
// these lie among the lanes is kept beside, so that no division is needed.
struct channel_walk {
    unsigned at, lane; // floats from the channel's begin; the first of the four lanes
    unsigned step, lane_step, lanes, plane;
    int samples;
};

static __device__ __forceinline__ channel_walk walk_begin(shape s, int lanes, int samples,
                                                          unsigned block, unsigned blocks) {
    const unsigned n = (unsigned)lanes, step = LANE_ROUND * blockDim.x * blocks;
    const unsigned at = LANE_ROUND * (block * blockDim.x + threadIdx.x);
    return channel_walk{at, at % n, step, step % n, n, plane_floats(s, lanes), samples};
}

// How many of the four lanes have a sample, the first ones; 0 or less: none. None behind the end
// either.
static __device__ __forceinline__ int walk_live(const channel_walk &w) {
    return w.at < w.plane ? w.samples - (int)w.lane : 0;
}

static __device__ __forceinline__ void walk_next(channel_walk *w) {
    w->at += w->step;
    w->lane += w->lane_step;
    if (w->lane >= w->lanes) w->lane -= w->lanes;
}

// Threads of a block that sums over a channel: few enough that each has some fours to take, because
// adding the threads' sums takes as long as reading.
static inline unsigned channel_threads(unsigned plane) {
    const unsigned fours_each = 4;
    unsigned threads = WARP;
    while (threads < MAX_THREADS && threads * fours_each * LANE_ROUND < plane) threads *= 2;
    return threads;
}

#endif
