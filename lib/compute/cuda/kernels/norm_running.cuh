// SPDX-License-Identifier: MIT
// norm_running.cuh - batch norm's running statistics, updated by the last kernel of a step.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_NORM_RUNNING_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_NORM_RUNNING_CUH

#include "compute/cuda/kernels/device.cuh"

static __device__ __forceinline__ void follow(float *running, float sum, double weight,
                                              double momentum) {
    if (weight > 0)
        *running = (float)((1.0 - momentum) * (double)*running + momentum * ((double)sum / weight));
}

// One step for all channels of a norm, by one block.
static __device__ __forceinline__ void follow_norm(const norm_running_list &list, unsigned which) {
    const norm_running_task t = list.items[which];
    double elements = 0, with_variance = 0;
    for (int v = 0; v < list.shards; v++) {
        const double count = (double)list.all_count[v] * t.positions;
        elements += count;
        if (count >= 2) with_variance += count;
    }
    if (list.sync) with_variance = elements >= 2 ? elements : 0;
    for (int channel = (int)threadIdx.x; channel < t.channels; channel += (int)blockDim.x) {
        follow(&t.mean[channel], t.mean_sum[channel], elements, t.momentum);
        follow(&t.variance[channel], t.variance_sum[channel], with_variance, t.momentum);
    }
}

#endif
