// SPDX-License-Identifier: MIT
// Weight gradients of linear layers, in the order of the CPU's engine: the samples of a group one
// after another, then the groups along the tree. (Forward and the input gradient are products of
// exact_conv.cu.)
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/cuda/kernels/lanes.cuh"

// A thread has ROWS outputs × COLUMNS inputs, the inputs LINEAR_THREADS apart.
enum { LINEAR_THREADS = 64, ROWS = 4, COLUMNS = 2 };

struct linear_sums {
    float at[ROWS][COLUMNS];
};

static __device__ __forceinline__ linear_sums add(const linear_sums &x, const linear_sums &y) {
    linear_sums sum;
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) sum.at[j][i] = x.at[j][i] + y.at[j][i];
    }
    return sum;
}

typedef struct exact_linear {
    int inputs, outputs;
    const float *x, *dz; // [shard][inputs or outputs][lanes]
    gradient_set gradients;
    size_t at;
} exact_linear;

// Adds four samples, in order.
static __device__ __forceinline__ void add_samples(const float *const (&dz)[ROWS],
                                                   const float *const (&x)[COLUMNS], int sample,
                                                   linear_sums &sums) {
    four d[ROWS], v[COLUMNS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) d[j] = load_four(dz[j] + sample);
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) v[i] = load_four(x[i] + sample);
#pragma unroll
    for (int k = 0; k < LANE_ROUND; k++) {
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                sums.at[j][i] = fmaf(d[j].v[k], v[i].v[k], sums.at[j][i]);
        }
    }
}

// The sum over a shard. Samples that a group lacks have gradients of zero.
static __device__ __forceinline__ linear_sums sum_of_shard(const float *const (&dz)[ROWS],
                                                           const float *const (&x)[COLUMNS],
                                                           int samples, int lanes) {
    tree<linear_sums> along;
    along.leaves = 0;
    for (int first = 0; first < samples; first += GROUP) {
        const int end = first + GROUP < lanes ? first + GROUP : lanes;
        linear_sums sums = {};
        for (int n = first; n < end; n += LANE_ROUND) add_samples(dz, x, n, sums);
        tree_push(&along, sums);
    }
    return tree_total(&along);
}

// blockIdx: inputs, outputs, the shard.
static __global__ void __launch_bounds__(LINEAR_THREADS) sum_linear(cut c, exact_linear t) {
    wait_for_kernels_before();
    const size_t shard = (size_t)shard_of_block(c), lanes = (size_t)c.lanes;
    const int row = (int)blockIdx.y * ROWS, samples = c.count[shard];
    const int column = (int)(blockIdx.x * LINEAR_THREADS * COLUMNS + threadIdx.x);
    const float *dz[ROWS], *x[COLUMNS];
    if (samples == 0) return;
    // Past the last one, the last again: its sum is not written.
    for (int j = 0; j < ROWS; j++) {
        const int o = row + j < t.outputs ? row + j : t.outputs - 1;
        dz[j] = t.dz + (shard * (size_t)t.outputs + (size_t)o) * lanes;
    }
    for (int i = 0; i < COLUMNS; i++) {
        const int n = column + i * LINEAR_THREADS;
        x[i] = t.x + (shard * (size_t)t.inputs + (size_t)(n < t.inputs ? n : t.inputs - 1)) * lanes;
    }
    const linear_sums sums = sum_of_shard(dz, x, samples, c.lanes);
    float *gradients = t.gradients.base + shard * t.gradients.stride + t.at;
    for (int j = 0; j < ROWS && row + j < t.outputs; j++)
        for (int i = 0; i < COLUMNS; i++) {
            const int n = column + i * LINEAR_THREADS;
            if (n < t.inputs)
                gradients[(size_t)(row + j) * (size_t)t.inputs + (size_t)n] = sums.at[j][i];
        }
}

void cuda_exact_linear_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const exact_linear l = {t->in.channels, t->out.channels, t->x,
                            t->z,           t->gradients,    t->weight_at};
    const dim3 grid(blocks_for((size_t)l.inputs, LINEAR_THREADS * COLUMNS),
                    blocks_for((size_t)l.outputs, ROWS), (unsigned)(c->end - c->first));
    LAUNCH(sum_linear, grid, LINEAR_THREADS, s, *c, l);
}
