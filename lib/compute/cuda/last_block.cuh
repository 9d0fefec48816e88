// last_block.cuh - which of several blocks is the last to have written its part, and may finish
// what they have begun together: a launch less. Chance decides which one it is, so what it makes
// must not depend on that: it adds parts in a fixed order, and reads them with __ldcg, past the
// cache of its processor.
#ifndef LOCKSTEP_COMPUTE_CUDA_LAST_BLOCK_CUH
#define LOCKSTEP_COMPUTE_CUDA_LAST_BLOCK_CUH

#include "compute/cuda/device.cuh"

// Whether `blocks` blocks have come here with this counter, the calling one included: then what
// they wrote before is there for all of its threads. All threads of a block must call it. The
// counter is zero before the first block and again behind the last.
static __device__ __forceinline__ bool is_last_block(unsigned *counter, unsigned blocks) {
    __shared__ bool last;
    __threadfence(); // each thread's own part, before the block is counted
    __syncthreads();
    if (blocks == 1) return true;
    if (thread_of_block() == 0) {
        last = atomicAdd(counter, 1u) == blocks - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    if (last) __threadfence(); // the others' parts, behind their having been counted
    return last;
}

#endif
