// SPDX-License-Identifier: MIT
// device.cuh - shared by all kernels: launches, and sums over a block in a fixed order.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_DEVICE_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_DEVICE_CUH

#include <cuda_runtime.h>

#include <climits>

#include "compute/cuda/kernels/cuda_kernels.h"

// **Launches.** A step is a chain of small kernels. Between the end of one and the start of the
// next the device idles, unless the next one's blocks are already in place; from sm_90 on a launch
// can allow that (programmatic dependent launch). Then every kernel calls
// wait_for_kernels_before(), in all of its threads: before it touches global memory, and before any
// of them returns. Index arithmetic that needs neither comes before the call, where it costs no
// time (make check-sass). This relies on the following, as NVIDIA documents it:
//
// - The wait (griddepcontrol.wait) is "until all prerequisite grids in flight have completed and
//   all the memory operations from the prerequisite grids are performed and made visible to the
//   current grid" (PTX ISA), whenever those let the next grid start. So no kernel reads too early,
//   or overwrites data that its prerequisites still read. Without a prerequisite the wait returns
//   at once.
// - The wait covers direct dependencies (cuda_device_runtime_api.h). Their own predecessors are
//   done as well, because no kernel completes before its own wait is over. A kernel that could skip
//   the wait would break this: if all threads of a grid returned early, it could complete before
//   its predecessor, and its successor would wait for neither.
// - After its wait a kernel lets the next one start (griddepcontrol.launch_dependents), "as soon as
//   all other CTAs in the grid issue the same instruction or have completed" (PTX ISA). So the next
//   kernel's blocks come when all blocks of the running one have a place, and take none away from
//   them: resident blocks only wait for blocks that are resident, too. No later kernel can start,
//   because the next one still has to wait. The resources of waiting blocks are not available to a
//   kernel of another stream; with large grids that may cost more than it saves. The position of
//   this instruction does not affect memory visibility. Without it the next kernel would start when
//   the last block ends, which would hide only the end of a grid, not a launch.
// - The launch attribute refers to "the previous kernel in the stream, if that kernel requests the
//   overlap" (driver_types.h); in a graph it becomes an edge that "may only be used between kernel
//   nodes" (likewise). So a launch has it only if the last work in the stream is one of our kernels
//   (launch_stream.after_kernel): not after a copy, a fill, a wait for another stream, or a kernel
//   of cuBLAS, and never in the stream in which NCCL reduces. An event that another stream waits
//   for changes nothing here: outside a graph the attribute then has no effect, and in a graph such
//   an event is no node.
// - A kernel of cuBLAS that follows one of ours is either launched when ours has completed or waits
//   itself: it has to after any kernel that lets others start.
//
// Arguments of a launch may be read before the wait: they are not in global memory.
enum { WAIT_SINCE = 90 }; // compute capability in the format of cudaFuncAttributes

static __device__ __forceinline__ void wait_for_kernels_before(void) {
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// `attribute` must live as long as the result. Notes the kernel in `after_kernel`.
static inline cudaLaunchConfig_t launch_config(dim3 grid, dim3 block, launch_stream s,
                                               cudaLaunchAttribute *attribute) {
    cudaLaunchConfig_t config = {};
    *attribute = {};
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = s.stream;
    config.attrs = attribute;
    config.numAttrs = s.after_kernel && *s.after_kernel ? 1 : 0;
    if (s.after_kernel) {
        *s.after_kernel = true;
    }
    return config;
}

// LAUNCH(kernel, grid, block, stream, arguments…): the only way to launch kernels.
// cudaGetLastError() reports a failure.
#define LAUNCH(kernel, grid, block, s, ...)                                                  \
    do {                                                                                     \
        cudaLaunchAttribute attribute_;                                                      \
        const cudaLaunchConfig_t config_ = launch_config((grid), (block), (s), &attribute_); \
        (void)cudaLaunchKernelEx(&config_, kernel, ##__VA_ARGS__);                           \
    } while (0)

enum {
    WARP = 32,
    MAX_THREADS = 1024, // of a block
    PROCESSORS = 132    // of an H100 or H200; not queried: bits must not depend on the device
};

static const unsigned ALL_LANES = 0xffffffffu; // of a warp

// A coordinate far outside of any image; sums with others still do not overflow.
enum { NOWHERE = INT_MIN / 2 };

// Returns the number of blocks of `each` that cover n elements.
static __host__ __device__ __forceinline__ unsigned blocks_for(size_t n, unsigned each) {
    return (unsigned)((n + each - 1) / each);
}

// Returns the block's shard; the grid's z runs over the shards of a cut (see MAX_GRID_YZ).
static __device__ __forceinline__ int shard_of_block(const cut &c) {
    return c.first + (int)blockIdx.z;
}

static __device__ __forceinline__ unsigned thread_of_block(void) {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ __forceinline__ unsigned threads_of_block(void) {
    return blockDim.x * blockDim.y * blockDim.z;
}

// Returns the sum over a warp, in all of its threads. Every step adds the same two numbers on both
// sides of the exchange, and a + b is b + a, so all threads hold the same bits.
template <typename T> static __device__ __forceinline__ T warp_sum(T value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    }
    return value;
}

// Returns the sum over a block, in all of its threads: within each warp, then over the warps' sums.
// The order depends only on the number of threads. All threads must call it; the block has whole
// warps.
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

// ---- Index arithmetic in front of the wait ----

// Has a pointer or an index computed here, before the wait. Without it ptxas computes what a kernel
// only needs after a branch behind that branch, and thus behind the wait: make check-sass shows the
// instructions from the wait to the first load. The test never holds, since no value is all ones.
template <typename T> static __device__ __forceinline__ void compute_early(T value) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 8)
        asm volatile("{.reg .pred p; setp.eq.u64 p, %0, -1; @p trap;}" ::"l"(value));
    else
        asm volatile("{.reg .pred p; setp.eq.u32 p, %0, -1; @p trap;}" ::"r"(value));
#else
    (void)value;
#endif
}

#endif
