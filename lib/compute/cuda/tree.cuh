// tree.cuh - what the kernels share that sum over lanes: four lanes at a time, the way of a thread
// through a channel, and sums in a fixed order: over a block, and along the tree of the shards.
#ifndef LOCKSTEP_COMPUTE_CUDA_TREE_CUH
#define LOCKSTEP_COMPUTE_CUDA_TREE_CUH

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

// ---- Through a channel, by the threads of one block ----

// A thread takes every blockDim.x-th four of a channel. Where these lie among the lanes is kept
// beside, so that no division is needed.
struct channel_walk {
    unsigned at, lane; // floats from the channel's begin; the first of the four lanes
    unsigned step, lane_step, lanes, plane;
    int samples;
};

static __device__ __forceinline__ channel_walk walk_begin(shape s, int lanes, int samples) {
    const unsigned n = (unsigned)lanes, step = LANE_ROUND * blockDim.x;
    const unsigned at = LANE_ROUND * threadIdx.x;
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

// ---- Two sums over a block ----

struct two_sums {
    double a, b;
};

static __device__ __forceinline__ two_sums add(two_sums x, two_sums y) {
    return two_sums{x.a + y.a, x.b + y.b};
}

static __device__ __forceinline__ float add(float x, float y) {
    return x + y;
}

static __device__ __forceinline__ two_sums warp_sums(two_sums s) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        s = add(s, two_sums{__shfl_xor_sync(ALL_LANES, s.a, distance),
                            __shfl_xor_sync(ALL_LANES, s.b, distance)});
    return s;
}

// In all threads; block_sum of both at once. The block has whole warps; once in a kernel.
static __device__ __forceinline__ two_sums block_sums(two_sums s) {
    __shared__ double a[WARP], b[WARP];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    s = warp_sums(s);
    if (lane == 0) {
        a[warp] = s.a;
        b[warp] = s.b;
    }
    __syncthreads();
    return warp_sums(lane < warps ? two_sums{a[lane], b[lane]} : two_sums{0, 0});
}

// ---- Along the tree ----

// The tree of base/reduction_tree.h, which splits n leaves at the largest power of two below n, for
// one thread that meets the leaves in order. What waits are the sums of perfect subtrees: of 2^k
// leaves where bit k of their number is set. T needs add(T, T).
enum { TREE_LEVELS = 16 }; // fewer than 2^16 leaves: MAX_GRID_YZ

template <class T> struct tree {
    T level[TREE_LEVELS];
    unsigned leaves;
};

template <class T> static __device__ __forceinline__ void tree_push(tree<T> *t, T sum) {
    int k = 0;
    for (; t->leaves >> k & 1; k++) sum = add(t->level[k], sum);
    t->level[k] = sum;
    t->leaves++;
}

// At least one leaf was pushed.
template <class T> static __device__ __forceinline__ T tree_total(const tree<T> *t) {
    int k = 0;
    while (!(t->leaves >> k & 1)) k++;
    T sum = t->level[k];
    for (k++; t->leaves >> k; k++)
        if (t->leaves >> k & 1) sum = add(t->level[k], sum);
    return sum;
}

#endif
