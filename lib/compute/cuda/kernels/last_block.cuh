// SPDX-License-Identifier: MIT
// last_block.cuh - detects the last of several blocks to have written its part, so that it can
// finish their common work: this saves a launch. Which block is last varies, so the result must not
// depend on it: the last block adds parts in a fixed order, and reads them with __ldcg, which
// bypasses the L1 cache.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_LAST_BLOCK_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_LAST_BLOCK_CUH

#include "compute/cuda/kernels/device.cuh"

// Returns whether `blocks` blocks, including the calling one, have arrived at this counter; if so,
// everything they wrote before is visible to all of this block's threads. All threads of a block
// must call it. The counter is zero before the first block and again after the last.
//
// One thread's fences serve its whole block. The barrier before the first one makes the other
// threads' writes precede it, the barrier after the second one makes it precede their reads, and
// causality is transitive across scopes ("Causality order" in the PTX ISA's memory model). A grid's
// sync() of CUDA's cooperative groups is made of the same steps.
static __device__ __forceinline__ bool is_last_block(unsigned *counter, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();
    if (blocks == 1) return true;
    if (thread_of_block() == 0) {
        __threadfence(); // this block's parts, before it is counted
        last = atomicAdd(counter, 1u) == blocks - 1;
        if (last) *counter = 0;
        __threadfence(); // the others' parts, after they were counted
    }
    __syncthreads();
    return last;
}

#endif
