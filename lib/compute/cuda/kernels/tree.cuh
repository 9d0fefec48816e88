// SPDX-License-Identifier: MIT
// tree.cuh - sums for kernels that add over lanes: in a fixed order, over a block, and along the
// tree of the shards.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_TREE_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_TREE_CUH

#include "compute/cuda/kernels/device.cuh"

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

// Along the tree of the lanes, neighbours first.
template <int Lanes> static __device__ __forceinline__ two_sums neighbours_sums(two_sums s) {
#pragma unroll
    for (int distance = 1; distance < Lanes; distance *= 2)
        s = add(s, two_sums{__shfl_xor_sync(ALL_LANES, s.a, distance),
                            __shfl_xor_sync(ALL_LANES, s.b, distance)});
    return s;
}

// block_sum of both at once; every thread gets the result. The block has whole warps; call it once
// per kernel.
static __device__ __forceinline__ two_sums sums_of_block(two_sums s) {
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
// one thread that visits the leaves in order. The pending sums are those of perfect subtrees: of
// 2^k leaves if bit k of the number of leaves is set. T needs add(T, T).
//
// `level` is in local memory, because its indices vary. A thread touches only the levels that its
// leaves fill. Registers for all of them would leave room for fewer blocks: epilogue_sums would
// have 134 instead of 32, exact batch norm's moments 225 instead of 40.
enum { TREE_LEVELS = 16 }; // fewer than 2^16 leaves: MAX_GRID_YZ

template <class T> struct tree {
    T level[TREE_LEVELS];
    unsigned leaves;
};

// Pushes a leaf, or the sum of a perfect subtree of 2^k leaves: then their number so far must be a
// multiple of that.
template <class T> static __device__ __forceinline__ void tree_push(tree<T> *t, T sum, int k = 0) {
    const unsigned leaves = 1u << k;
    for (; t->leaves >> k & 1; k++) sum = add(t->level[k], sum);
    t->level[k] = sum;
    t->leaves += leaves;
}

// Needs at least one pushed leaf.
template <class T> static __device__ __forceinline__ T tree_total(const tree<T> *t) {
    int k = 0;
    while (!(t->leaves >> k & 1)) k++;
    T sum = t->level[k];
    for (k++; t->leaves >> k; k++)
        if (t->leaves >> k & 1) sum = add(t->level[k], sum);
    return sum;
}

// Pushes leaf(first), leaf(first + 1), … of a perfect subtree, of which only the sum leaves the
// registers. They are read together: no addition waits for memory but the first.
template <int Level, class T, class Leaf>
static __device__ __forceinline__ void push_subtree(tree<T> *t, unsigned first, const Leaf &leaf) {
    constexpr unsigned LEAVES = 1u << Level;
    T of[LEAVES];
#pragma unroll
    for (unsigned i = 0; i < LEAVES; i++) of[i] = leaf(first + i);
#pragma unroll
    for (unsigned step = 1; step < LEAVES; step *= 2) {
#pragma unroll
        for (unsigned i = 0; i < LEAVES; i += 2 * step) of[i] = add(of[i], of[i + step]);
    }
    tree_push(t, of[0], Level);
}

// Returns the sum of n leaves, n > 0; leaf(i) reads one.
template <class T, class Leaf>
static __device__ __forceinline__ T tree_sum(unsigned n, const Leaf &leaf) {
    tree<T> along;
    along.leaves = 0;
    unsigned first = 0;
    for (; first + 8 <= n; first += 8) push_subtree<3>(&along, first, leaf);
    if (n & 4) push_subtree<2>(&along, first, leaf);
    if (n & 2) push_subtree<1>(&along, first + (n & 4), leaf);
    if (n & 1) push_subtree<0>(&along, n - 1, leaf);
    return tree_total(&along);
}

#endif
