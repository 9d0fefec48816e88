// norm.cuh - the gradient through a batch norm, for the kernels that have its sums.
#ifndef LOCKSTEP_COMPUTE_CUDA_NORM_CUH
#define LOCKSTEP_COMPUTE_CUDA_NORM_CUH

#include "compute/cuda/tree.cuh"

static __device__ __forceinline__ double positions(shape s) {
    return (double)s.height * s.width;
}

// dz = gamma·inv_std·(dt - mean(dt) - xhat·mean(dt·xhat)), xhat = (z - mean)·inv_std, as dy·dt +
// z·z
// + one.
struct norm_factors {
    float dy, z, one;
};

// From the sums of dt and dt·xhat over `count` elements.
static __device__ __forceinline__ norm_factors norm_factors_of(float gamma, float mean,
                                                               float inv_std, two_sums sum,
                                                               double count) {
    const double factor = (double)gamma * (double)inv_std;
    const double from_z = -factor * (double)inv_std * (sum.b / count);
    return norm_factors{(float)factor, (float)from_z,
                        (float)(-factor * (sum.a / count) - from_z * (double)mean)};
}

#endif
