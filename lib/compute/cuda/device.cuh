// device.cuh - what kernels share: how they are launched, and sums over a block in a fixed order.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_CUH
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "compute/cuda/kernels.h"

// **Launches.** A step is a chain of small kernels. Where one ends and the next begins the device
// idles, unless the next one's blocks are in place by then: from sm_90 on a launch may allow that
// (programmatic dependent launch). Then every kernel begins with wait_for_kernels_before(), in all
// of its threads: before it touches global memory, and before any of them returns. What is relied
// on, and where NVIDIA says so:
//
// - The wait (griddepcontrol.wait) is "until all prerequisite grids in flight have completed and
//   all the memory operations from the prerequisite grids are performed and made visible to the
//   current grid" (PTX ISA), whenever those let others start. So nothing is read too early, and
//   nothing is overwritten that they still read. Without a prerequisite it is over at once.
// - It is for direct dependencies (cuda_device_runtime_api.h). What is in front of those is done as
//   well, because no kernel completes before its own wait is over. With a way around the wait that
//   would not be so: if all threads of a grid returned early, it could be complete before the grid
//   in front of it, and the one behind it would wait for neither.
// - Behind its wait a kernel lets the next one start (griddepcontrol.launch_dependents), "as soon
//   as all other CTAs in the grid issue the same instruction or have completed" (PTX ISA). So the
//   next one's blocks come when all of the running one have a place, and take none away from them:
//   whoever waits in place waits for blocks that have theirs. No kernel behind the next one comes,
//   because that has yet to wait. What waiting blocks hold is missing to a kernel of another
//   stream; with large grids that may cost more than it brings. Memory does not depend on where
//   this is said. Without it the next one would start when the last block ends, and only the end
//   of a grid would be hidden, not a launch.
// - The attribute of a launch is about "the previous kernel in the stream, if that kernel requests
//   the overlap" (driver_types.h). Behind a copy, a fill, or an event that is recorded or waited
//   for, it means nothing; in a graph it becomes an edge that "may only be used between kernel
//   nodes" (likewise). At a fork or a join of streams a kernel has several dependencies. The launch
//   comes behind those that are not of this kind, and its wait is for those that are.
// - Behind a kernel of cuBLAS or NCCL the wait is for that one's completion, and that it completes
//   behind what is in front of it is its library's to see to. If it comes behind one of ours, it is
//   either launched when ours has completed or waits itself: it has to behind anybody's kernel that
//   lets others start.
//
// Arguments of a launch may be read before the wait; they are not in global memory.
enum { WAIT_SINCE = 90 }; // compute capability, as cudaFuncAttributes has it

static __device__ __forceinline__ void wait_for_kernels_before(void) {
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// `attribute` must live as long as the result.
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
    config.numAttrs = s.programmatic ? 1 : 0;
    return config;
}

// LAUNCH(kernel, grid, block, stream, arguments…): the only way in which kernels are launched. A
// failure is left to cudaGetLastError().
#define LAUNCH(kernel, grid, block, s, ...)                                                  \
    do {                                                                                     \
        cudaLaunchAttribute attribute_;                                                      \
        const cudaLaunchConfig_t config_ = launch_config((grid), (block), (s), &attribute_); \
        (void)cudaLaunchKernelEx(&config_, kernel, ##__VA_ARGS__);                           \
    } while (0)

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
