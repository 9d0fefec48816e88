// device.cuh - what kernels share: how they are launched, and sums over a block in a fixed order.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_CUH
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "compute/cuda/kernels.h"

// The only place that knows the syntax of a launch: compilers for the host do not
// (tests/emulation).
#ifndef LAUNCH
#define LAUNCH(kernel, grid, block, stream, ...) \
    kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#endif

enum {
    WARP = 32,
    MAX_THREADS = 1024, // of a block
    MAX_GRID_YZ = 65535,
    PROCESSORS = 132 // of an H100 or H200; not asked of the device: bits must not depend on it
};

static const unsigned ALL_LANES = 0xffffffffu; // of a warp

// Blocks of `each` that cover n things.
static __host__ __device__ __forceinline__ unsigned blocks_for(size_t n, unsigned each) {
    return (unsigned)((n + each - 1) / each);
}

// Where a grid's z runs over the shards of a cut (see MAX_GRID_YZ).
static __device__ __forceinline__ int shard_of_block(const cut &c) {
    return c.first + (int)blockIdx.z;
}

static __device__ __forceinline__ unsigned thread_of_block(void) {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ __forceinline__ unsigned threads_of_block(void) {
    return blockDim.x * blockDim.y * blockDim.z;
}

// The sum over a warp, in all of its threads. Every step adds the same two numbers on both sides of
// the exchange, and a + b is b + a, so all threads hold the same bits.
template <typename T> static __device__ __forceinline__ T warp_sum(T value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    }
    return value;
}

// The sum over a block, in all of its threads: within each warp, then over the warps' sums. The
// order depends on the number of threads only. All threads must call it; the block has whole warps.
template <typename T> static __device__ T block_sum(T value) {
    __shared__ T of_warp[MAX_THREADS / WARP];
    const unsigned lane = thread_of_block() % WARP, warp = thread_of_block() / WARP;
    value = warp_sum(value);
    if (lane == 0) {
        of_warp[warp] = value;
    }
    __syncthreads();
    const unsigned warps = threads_of_block() / WARP;
    value = warp_sum(lane < warps ? of_warp[lane] : T(0));
    __syncthreads(); // the next call may write of_warp
    return value;
}

#endif
