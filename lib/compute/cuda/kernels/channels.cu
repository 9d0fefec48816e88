// SPDX-License-Identifier: MIT
// Layers that only move channels: ranges of them, and shuffles. A thread moves four neighbouring
// samples.
#include "compute/cuda/kernels/device.cuh"
#include "compute/cuda/kernels/lanes.cuh"

enum { MOVING_THREADS = 256 };

// This thread's first float among those of a shard.
static __device__ __forceinline__ size_t float_of_thread(void) {
    return ((size_t)blockIdx.x * MOVING_THREADS + threadIdx.x) * LANE_ROUND;
}

static dim3 grid_of(const cut *c, size_t features) {
    return dim3(blocks_for(features * (size_t)c->lanes / LANE_ROUND, MOVING_THREADS), 1,
                (unsigned)(c->end - c->first));
}

// ---- Ranges ----

static __global__ void move_range(cut c, cuda_range_task t) {
    const size_t lanes = (size_t)c.lanes, shard = (size_t)shard_of_block(c);
    const size_t at = float_of_thread(), first = t.first * lanes;
    const bool inside = at >= first && at < first + t.features * lanes;
    const float *from = t.from + shard * t.from_features * lanes + (inside ? at - first : 0);
    float *to = t.to + shard * t.to_features * lanes + at;
    compute_early(to);
    wait_for_kernels_before();
    if (!inside && !(t.clears && at < t.to_features * lanes)) return;
    four f = inside ? load_four(from) : four{};
    if (t.adds) {
        const four sum = load_four(to);
        for (int k = 0; k < LANE_ROUND; k++) f.v[k] += sum.v[k];
    }
    store_four(to, f);
}

void cuda_range(launch_stream s, const cut *c, const cuda_range_task *t) {
    const dim3 grid = grid_of(c, t->clears ? t->to_features : t->features);
    if (grid.z > 0) LAUNCH(move_range, grid, MOVING_THREADS, s, *c, *t);
}

// ---- Shuffle ----

typedef struct shuffle_task {
    int channels, groups;
    size_t positions;
    const float *from;
    float *to;
    bool back;
} shuffle_task;

static __global__ void shuffle_channels(cut c, shuffle_task t) {
    const size_t plane = t.positions * (size_t)c.lanes, shard = (size_t)t.channels * plane;
    const size_t at = float_of_thread(), base = (size_t)shard_of_block(c) * shard;
    const int channel = (int)(at / plane);
    const size_t other =
        (size_t)shuffled_channel(t.channels, t.groups, channel) * plane + at % plane;
    compute_early(other);
    wait_for_kernels_before();
    if (at >= shard) return;
    store_four(t.to + base + (t.back ? other : at),
               load_four(t.from + base + (t.back ? at : other)));
}

static void launch(launch_stream s, const cut *c, const layer *l, const float *from, float *to,
                   bool back) {
    const size_t positions = (size_t)l->in.height * (size_t)l->in.width;
    const shuffle_task t = {l->in.channels, l->groups, positions, from, to, back};
    const dim3 grid = grid_of(c, shape_size(l->in));
    if (grid.z > 0) LAUNCH(shuffle_channels, grid, MOVING_THREADS, s, *c, t);
}

void cuda_shuffle(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t->l, t->x, t->y, false);
}

void cuda_shuffle_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t->l, t->dy, t->dx, true);
}
