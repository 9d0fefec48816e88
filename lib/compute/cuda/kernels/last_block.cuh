// SPDX-License-Identifier: MIT
// last_block.cuh - detects the last of several blocks to have written its part, so that it can
// finish their common work: this saves a launch. Which block is last varies, so the result must not
// depend on it: the last block adds parts in a fixed order, and reads them with __ldcg, which
// bypasses the L1 cache.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_LAST_BLOCK_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_LAST_BLOCK_CUH

#include "compute/cuda/kernels/device.cuh"

// Counts the calling block; returns how many came before. The count releases what the block wrote,
// and acquires what those before it wrote. The fences of __threadfence() would be sequentially
// consistent: they cost more, and order more than this needs.
static __device__ __forceinline__ unsigned count_block(unsigned *counter) {
    unsigned before;
#ifdef __CUDA_ARCH__
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
#else
    __threadfence();
    before = atomicAdd(counter, 1u);
    __threadfence();
#endif
    return before;
}

// Returns whether `blocks` blocks, including the calling one, have arrived at this counter; if so,
// everything they wrote before is visible to all of this block's threads. All threads of a block
// must call it. The counter is zero before the first block and again after the last.
//
// One thread's count serves its whole block. The barrier before it makes the other threads' writes
// precede it, the barrier after it makes it precede their reads, and causality is transitive across
// scopes ("Causality order" in the PTX ISA's memory model).
static __device__ __forceinline__ bool is_last_block(unsigned *counter, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();
    if (blocks == 1) return true;
    if (thread_of_block() == 0) {
        last = count_block(counter) == blocks - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    return last;
}

#endif
