// SPDX-License-Identifier: MIT
// Weight and bias gradients of all layers, in the order of the CPU's engine: those of linear layers
// are exact_linear.cu's, direct ones exact_direct_weight.cu's. What exact_winograd_weight.cu sums
// over a group is added here along the tree of the groups.
#include "compute/cuda/kernels/exact/exact_weight.cuh"

static __global__ void __launch_bounds__(PLANE_THREADS) sum_biases(bias_sums t) {
    wait_for_kernels_before();
    sum_biases_of_block(t, blockIdx.x);
}

enum { GROUPS_THREADS = 128 };

// gradients[shard][at + i] = the sum of sums[shard][group][i]
static __global__ void __launch_bounds__(GROUPS_THREADS)
    sum_groups(cut c, size_t n, const float *sums, gradient_set gradients, size_t at) {
    const size_t i = (size_t)blockIdx.x * GROUPS_THREADS + threadIdx.x;
    const size_t shard = (size_t)shard_of_block(c);
    const float *from = sums + shard * groups_of(c.lanes) * n + i;
    wait_for_kernels_before();
    const unsigned groups = groups_of(c.count[shard]);
    if (i >= n || groups == 0) return;
    gradients.base[shard * gradients.stride + at + i] =
        tree_sum<float>(groups, [&](unsigned g) { return from[g * n]; });
}

// ---- Launching ----

static size_t sums_of(const cuda_conv_task *t, int lanes, int shards) {
    const size_t groups = (size_t)(shards * t->channel_parts) * groups_of(lanes);
    const size_t floats = weight_sums_of(t, lanes, shards) + groups * (size_t)t->out.channels;
    return (floats + 3) / 4 * 4; // for float4 after them
}

size_t cuda_exact_workspace(const cuda_conv_task *t, int lanes, int shards) {
    if (t->linear) return 0;
    const size_t sums = sums_of(t, lanes, shards);
    return sums + (t->winograd ? cuda_exact_winograd_workspace(t, lanes, shards) : 0);
}

size_t cuda_exact_counters(const cuda_conv_task *t, int lanes, int shards) {
    (void)lanes;
    if (t->linear) return 0;
    return t->winograd ? (size_t)shards * (size_t)t->out.channels
                       : cuda_exact_direct_counters(t, shards);
}

static void launch_winograd(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const dim3 block = plane_block(t->out.height);
    const bias_sums b = biases_of(c, t, block);
    const size_t n = weights_of(t);
    cuda_exact_winograd_weight(s, c, t, t->workspace, t->workspace + sums_of(t, c->lanes, c->end));
    LAUNCH(sum_groups, dim3(blocks_for(n, GROUPS_THREADS), 1, parts_of(c, t)), GROUPS_THREADS, s,
           *c, n, t->workspace, t->gradients, t->weight_at);
    if (b.blocks == 0) return;
    LAUNCH(sum_biases, dim3(b.blocks, groups_of(c->lanes), parts_of(c, t)), block, s, b);
}

void cuda_exact_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (c->end == c->first) return;
    if (t->linear)
        cuda_exact_linear_weight(s, c, t);
    else if (t->winograd)
        launch_winograd(s, c, t);
    else
        cuda_exact_direct_weight(s, c, t);
}
