// SPDX-License-Identifier: MIT
// limits.h - kernels that measure what a device can do (limits.cu).
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_LIMITS_H
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_LIMITS_H

#include "compute/cuda/kernels/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each of the LIMITS_THREADS threads of a block makes LIMITS_MULTIPLY_ADDS per round, in registers,
// and writes one float to `to`.
enum { LIMITS_THREADS = 256, LIMITS_MULTIPLY_ADDS = 128 };
void cuda_multiply_adds(launch_stream s, int blocks, int rounds, float *to);

// An empty kernel.
void cuda_nothing(launch_stream s);

// Reports whether kernels on the current device wait for their predecessors, as
// launch_stream.after_kernel requires: that is, whether the code that runs there was compiled for
// sm_90 or newer.
cudaError_t cuda_kernels_wait(bool *wait);

#ifdef __cplusplus
}
#endif

#endif
