// limits.h - kernels that show what a device can do, and are good for nothing else (limits.cu).
#ifndef LOCKSTEP_COMPUTE_CUDA_LIMITS_H
#define LOCKSTEP_COMPUTE_CUDA_LIMITS_H

#include "compute/cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each of LIMITS_THREADS threads of a block makes LIMITS_MULTIPLY_ADDS in a round, in registers;
// `to` gets a float of each thread.
enum { LIMITS_THREADS = 256, LIMITS_MULTIPLY_ADDS = 128 };
void cuda_multiply_adds(launch_stream s, int blocks, int rounds, float *to);

// A launch and nothing else.
void cuda_nothing(launch_stream s);

// Whether kernels wait for those before them on the current device, as launch_stream.programmatic
// needs it: whether what runs there was compiled for sm_90 or newer.
cudaError_t cuda_kernels_wait(bool *wait);

#ifdef __cplusplus
}
#endif

#endif
