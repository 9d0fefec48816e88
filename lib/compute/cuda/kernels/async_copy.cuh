// SPDX-License-Identifier: MIT
// async_copy.cuh - copies from global to shared memory that are under way while a thread computes,
// and take no registers (from sm_80 on; before, and in the emulation, a copy is a load and a
// store).
//
// A thread waits for its own copies. A barrier after that makes all of a block's visible to it.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_ASYNC_COPY_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_ASYNC_COPY_CUH

#include "compute/cuda/kernels/device.cuh"

// Copies 16 bytes, aligned to as many, or writes zeros and does not touch `from`.
static __device__ __forceinline__ void copy_four(float *to, const float *from, bool exists) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(exists ? 16 : 0)
                 : "memory");
#else
    *reinterpret_cast<float4 *>(to) =
        exists ? *reinterpret_cast<const float4 *>(from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}

// As copy_four, of 4 bytes: only cp.async.ca, which keeps them in the first-level cache, has so
// few.
static __device__ __forceinline__ void copy_one(float *to, const float *from, bool exists) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from),
                 "r"(exists ? 4 : 0)
                 : "memory");
#else
    *to = exists ? *from : 0.0f;
#endif
}

// Ends a batch: the copies since the last one.
static __device__ __forceinline__ void end_copies(void) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all batches but the last `Later`.
template <int Later> static __device__ __forceinline__ void wait_for_copies(void) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
#endif
}

#endif
