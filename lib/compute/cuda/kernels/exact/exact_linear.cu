// SPDX-License-Identifier: MIT
// Weight and bias gradients of linear layers, in the order of the CPU's engine: the samples of a
// group one after another, for biases by halves, then the groups along the tree. (Forward and the
// input gradient are products of exact_conv.cu.)
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/cuda/kernels/lanes.cuh"

// A thread has ROWS outputs × COLUMNS inputs, the inputs LINEAR_THREADS apart. Neighbouring groups,
// 2^k of them, are a slot: the slots of a block are summed side by side.
enum { LINEAR_THREADS = 64, SLOTS = 8, ROWS = 4, COLUMNS = 2 };
enum { BIASES = LINEAR_THREADS * SLOTS / GROUP }; // of a block

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
    unsigned rows;       // blockIdx.y of weights; those that follow sum biases
    gradient_set gradients;
    size_t weight_at, bias_at;
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

// The sum over a slot. Samples that a group lacks have gradients of zero.
static __device__ __forceinline__ linear_sums sum_of_slot(const float *const (&dz)[ROWS],
                                                          const float *const (&x)[COLUMNS],
                                                          int first, int end, int lanes) {
    tree<linear_sums> along;
    along.leaves = 0;
    for (; first < end; first += GROUP) {
        const int last = first + GROUP < lanes ? first + GROUP : lanes;
        linear_sums sums = {};
#pragma unroll 4
        for (int n = first; n < last; n += LANE_ROUND) add_samples(dz, x, n, sums);
        tree_push(&along, sums);
    }
    return tree_total(&along);
}

// Returns the groups of a slot: a power of two, so that the slots are subtrees.
static __device__ __forceinline__ int slot_groups(int groups) {
    int n = 1;
    while (n * SLOTS < groups) n *= 2;
    return n;
}

// Writes the sums of ROWS × COLUMNS weights over the shard, by the threads of the first slot.
static __device__ __forceinline__ void sum_linear_weights(const cut &c, const exact_linear &t) {
    __shared__ linear_sums of_slot[SLOTS][LINEAR_THREADS];
    const size_t shard = (size_t)shard_of_block(c), lanes = (size_t)c.lanes;
    const int row = (int)blockIdx.y * ROWS, samples = c.count[shard];
    const int column = (int)(blockIdx.x * LINEAR_THREADS * COLUMNS + threadIdx.x);
    const float *dz[ROWS], *x[COLUMNS];
    // Past the last one, the last again: its sum is not written.
    for (int j = 0; j < ROWS; j++) {
        const int o = row + j < t.outputs ? row + j : t.outputs - 1;
        dz[j] = t.dz + (shard * (size_t)t.outputs + (size_t)o) * lanes;
    }
    for (int i = 0; i < COLUMNS; i++) {
        const int n = column + i * LINEAR_THREADS;
        x[i] = t.x + (shard * (size_t)t.inputs + (size_t)(n < t.inputs ? n : t.inputs - 1)) * lanes;
    }
    const int slot = slot_groups((int)groups_of(samples)) * GROUP; // samples
    const int first = (int)threadIdx.y * slot, slots = (samples + slot - 1) / slot;
    if (first < samples)
        of_slot[threadIdx.y][threadIdx.x] =
            sum_of_slot(dz, x, first, first + slot < samples ? first + slot : samples, c.lanes);
    __syncthreads();
    if (threadIdx.y > 0) return;
    const linear_sums sums =
        tree_sum<linear_sums>((unsigned)slots, [&](unsigned i) { return of_slot[i][threadIdx.x]; });
    float *gradients = t.gradients.base + shard * t.gradients.stride + t.weight_at;
    for (int j = 0; j < ROWS && row + j < t.outputs; j++)
        for (int i = 0; i < COLUMNS; i++) {
            const int n = column + i * LINEAR_THREADS;
            if (n < t.inputs)
                gradients[(size_t)(row + j) * (size_t)t.inputs + (size_t)n] = sums.at[j][i];
        }
}

// GROUP neighbouring threads sum a bias.
static __device__ __forceinline__ void sum_linear_biases(const cut &c, const exact_linear &t) {
    const size_t shard = (size_t)shard_of_block(c);
    const int block = (int)((blockIdx.y - t.rows) * gridDim.x + blockIdx.x);
    const int thread = (int)thread_of_block(), lane = thread % GROUP, samples = c.count[shard];
    const int output = block * BIASES + thread / GROUP;
    const int o = output < t.outputs ? output : t.outputs - 1;
    const float *dz = t.dz + (shard * (size_t)t.outputs + (size_t)o) * (size_t)c.lanes + lane;
    const float sum = tree_sum<float>(groups_of(samples), [&](unsigned g) {
        const int sample = (int)(g * GROUP) + lane;
        return 0.0f + sum_by_halves(sample < samples ? dz[g * GROUP] : 0.0f, cpu_lanes(c.lanes));
    });
    if (lane == 0 && output < t.outputs)
        t.gradients.base[shard * t.gradients.stride + t.bias_at + (size_t)output] = sum;
}

// blockIdx: inputs, outputs, the shard.
static __global__ void __launch_bounds__(LINEAR_THREADS *SLOTS) sum_linear(cut c, exact_linear t) {
    wait_for_kernels_before();
    if (c.count[shard_of_block(c)] == 0) return;
    if (blockIdx.y < t.rows)
        sum_linear_weights(c, t);
    else
        sum_linear_biases(c, t);
}

void cuda_exact_linear_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const unsigned across = blocks_for((size_t)t->in.channels, LINEAR_THREADS * COLUMNS);
    exact_linear l = {};
    l.inputs = t->in.channels;
    l.outputs = t->out.channels;
    l.x = t->x;
    l.dz = t->z;
    l.rows = blocks_for((size_t)l.outputs, ROWS);
    l.gradients = t->gradients;
    l.weight_at = t->weight_at;
    l.bias_at = t->bias_at;
    const unsigned biases = t->bias ? blocks_for((size_t)l.outputs, BIASES * across) : 0;
    const dim3 grid(across, l.rows + biases, (unsigned)(c->end - c->first));
    LAUNCH(sum_linear, grid, dim3(LINEAR_THREADS, SLOTS), s, *c, l);
}
