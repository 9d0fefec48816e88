// SPDX-License-Identifier: MIT
// early.cuh - keeps index arithmetic in front of a kernel's wait (device.cuh).
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EARLY_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EARLY_CUH

#include <cuda_runtime.h>

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
