// limits.cu - what a device can do: multiply-adds on registers alone, and a kernel that does
// nothing.
#include "compute/cuda/device.cuh"
#include "compute/cuda/limits.h"

enum { SUMS = 8 }; // of a thread: as many may be under way at once

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
    to[(size_t)blockIdx.x * LIMITS_THREADS + threadIdx.x] = all; // or the loop would be dropped
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

// Asked of the code and not of the device: an H100 that finds code for older devices only compiles
// that, in which there is no wait. All kernels are compiled for the same devices.
cudaError_t cuda_kernels_wait(bool *wait) {
    cudaFuncAttributes a = {};
    const cudaError_t code = cudaFuncGetAttributes(&a, nothing);
    *wait = code == cudaSuccess && a.ptxVersion >= WAIT_SINCE;
    return code;
}
