// SPDX-License-Identifier: MIT
// reduce.cu - sums of gradient buffers along the tree of base/reduction_tree.h: of shards, and of
// ranks, each of which sums a slice.
//
// A thread runs the stack machine of reduction_tree_merges for four elements. All threads take the
// same steps, so nothing diverges; the merges are those of the engine's shards, each a leaf.
#include "base/reduction_tree.h"
#include "compute/cuda/kernels/device.cuh"

enum {
    BLOCK = 128,
    BELOW_MOST = REDUCTION_TREE_MAX_DEPTH, // sums below the top of a stack, at most
    AHEAD = 4                              // gradient buffers read before the first is added
};

static __device__ float4 gradient_at(const reduce_task &t, int shard, size_t at) {
    const float *gradients =
        t.places ? t.places[shard] : t.gradients.base + (size_t)shard * t.gradients.stride;
    return *reinterpret_cast<const float4 *>(gradients + at);
}

static __device__ void store_sum(const reduce_task &t, int which, size_t at, float4 sum) {
    *reinterpret_cast<float4 *>(t.out + (size_t)which * t.out_stride + at) = sum;
}

static __device__ float4 add(float4 a, float4 b) {
    return float4{a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// n and both strides are multiples of 4, as in arenas. A thread reads all inputs of an element
// before it writes it, so `out` may be one of the gradient buffers.
static __global__ void __launch_bounds__(BLOCK) reduce(cut c, reduce_task t) {
    const size_t at = 4 * ((size_t)blockIdx.x * BLOCK + threadIdx.x);
    wait_for_kernels_before();
    if (at >= t.n) return;
    // `below` is in local memory, for the reason in tree.cuh.
    float4 below[BELOW_MOST], top = {0, 0, 0, 0};
    int height = 0; // of the stack, with its top
    for (int first = c.first; first < c.end; first += AHEAD) {
        float4 gradients[AHEAD];
        int merges[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            merges[i] = REDUCE_SKIP;
            if (first + i >= c.end) continue;
            gradients[i] = gradient_at(t, first + i, at);
            merges[i] = t.merges[first + i];
        }
        for (int i = 0; i < AHEAD; i++) {
            if (merges[i] == REDUCE_SKIP) continue;
            if (height > 0) below[height - 1] = top;
            top = gradients[i];
            height++;
            for (; merges[i] > 0; merges[i]--, height--) top = add(below[height - 2], top);
        }
    }
    for (int k = 0; k < height - 1; k++) store_sum(t, k, at, below[k]);
    if (height > 0) store_sum(t, height - 1, at, top);
}

void cuda_reduce(launch_stream s, const cut *c, const reduce_task *t) {
    if (c->first >= c->end || t->n == 0) return;
    LAUNCH(reduce, blocks_for(t->n, 4 * BLOCK), BLOCK, s, *c, *t);
}

// blockIdx.y: the slice.
static __global__ void __launch_bounds__(BLOCK) gather_slices(slices_task t) {
    const size_t in = 4 * ((size_t)blockIdx.x * BLOCK + threadIdx.x);
    const size_t at = blockIdx.y * t.slice + in;
    wait_for_kernels_before();
    if ((int)blockIdx.y == t.own || in >= t.slice || at >= t.n) return;
    *reinterpret_cast<float4 *>(t.out + at) =
        *reinterpret_cast<const float4 *>(t.places[blockIdx.y] + at);
}

void cuda_gather_slices(launch_stream s, const slices_task *t) {
    const dim3 grid(blocks_for(t->slice, 4 * BLOCK), (unsigned)t->slices);
    LAUNCH(gather_slices, grid, BLOCK, s, *t);
}
