// SPDX-License-Identifier: MIT
// limits.cu - kernels that measure a device: multiply-adds on registers alone, and an empty kernel.
#include "compute/cuda/kernels/device.cuh"
#include "compute/cuda/kernels/limits.h"

enum { SUMS = 8 }; // per thread: this many can be in flight at once

static __global__ void __launch_bounds__(LIMITS_THREADS)
    multiply_adds(int rounds, float factor, float term, float *to) {
    wait_for_kernels_before();
    float sum[SUMS];
    for (int i = 0; i < SUMS; i++) {
        sum[i] = term * (float)(i + (int)threadIdx.x);
    }
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int n = 0; n < LIMITS_MULTIPLY_ADDS; n++) {
            sum[n % SUMS] = fmaf(sum[n % SUMS], factor, term);
        }
    }
    float all = 0;
    for (int i = 0; i < SUMS; i++) {
        all += sum[i];
    }
    to[(size_t)blockIdx.x * LIMITS_THREADS + threadIdx.x] = all; // keeps the loop alive
}

static __global__ void nothing(void) {
    wait_for_kernels_before();
}

void cuda_multiply_adds(launch_stream s, int blocks, int rounds, float *to) {
    LAUNCH(multiply_adds, (unsigned)blocks, LIMITS_THREADS, s, rounds, 0.9999f, 1e-4f, to);
}

void cuda_nothing(launch_stream s) {
    LAUNCH(nothing, 1, WARP, s);
}

// Queries the code, not the device: an H100 that only finds code for older devices compiles that
// code, which does not wait. All kernels are compiled for the same devices.
cudaError_t cuda_kernels_wait(bool *wait) {
    cudaFuncAttributes a = {};
    const cudaError_t code = cudaFuncGetAttributes(&a, nothing);
    *wait = code == cudaSuccess && a.ptxVersion >= WAIT_SINCE;
    return code;
}
