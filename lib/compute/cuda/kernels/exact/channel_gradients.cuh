// SPDX-License-Identifier: MIT
// channel_gradients.cuh - the gradients of the weight and the bias of each channel, of unfused
// layers: the sums over the groups of samples of a shard.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_CHANNEL_GRADIENTS_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_CHANNEL_GRADIENTS_CUH

#include "compute/cuda/kernels/exact/exact.cuh"

struct channel_gradients {
    int channels;
    double *parts; // numbers_of a channel and a group: the sums of dy and of dy · x̂
    gradient_set gradients;
    size_t weight_at, bias_at;
};

enum { CHANNEL_THREADS = 64 };

// One thread a channel.
static __global__ void __launch_bounds__(CHANNEL_THREADS)
    add_channel_gradients(cut c, channel_gradients t) {
    wait_for_kernels_before();
    const int channel = (int)(blockIdx.x * CHANNEL_THREADS + threadIdx.x);
    const int shard = shard_of_block(c), samples = c.count[shard];
    if (channel >= t.channels || samples == 0) return;
    const two_floats sum = tree_sum<two_floats>(groups_of(samples), [&](unsigned g) {
        const two_sums of = numbers_of(t.parts, c, t.channels, shard, g)[channel];
        return two_floats{(float)of.a, (float)of.b};
    });
    float *gradients = t.gradients.base + (size_t)shard * t.gradients.stride + channel;
    gradients[t.bias_at] = sum.a;
    gradients[t.weight_at] = sum.b;
}

static inline void launch_channel_gradients(launch_stream s, const cut *c,
                                            const cuda_layer_task *t) {
    const channel_gradients of = {t->l->in.channels, t->parts, t->gradients, t->l->weight,
                                  t->l->bias};
    const unsigned blocks = blocks_for((size_t)of.channels, CHANNEL_THREADS);
    LAUNCH(add_channel_gradients, dim3(blocks, 1, (unsigned)(c->end - c->first)), CHANNEL_THREADS,
           s, *c, of);
}

#endif
