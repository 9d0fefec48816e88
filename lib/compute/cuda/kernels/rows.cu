// SPDX-License-Identifier: MIT
// The parts of matrix products that cuBLAS does not do: rows set to their bias, and sums of rows.
#include "compute/cuda/kernels/lanes.cuh"

enum { ROW_THREADS = 256 };

// ---- z = bias ----

static __global__ void fill_rows(cut c, int rows, const float *bias, float *z) {
    const unsigned n = (unsigned)rows * (unsigned)c.lanes;
    const unsigned at = (blockIdx.x * ROW_THREADS + threadIdx.x) * LANE_ROUND;
    const float *own = bias + at / (unsigned)c.lanes;
    compute_early(own);
    wait_for_kernels_before();
    if (at >= n) return;
    const float b = *own;
    store_four(z + (size_t)shard_of_block(c) * n + at, four{{b, b, b, b}});
}

void cuda_fill_rows(launch_stream s, const cut *c, int rows, const float *bias, float *z) {
    const unsigned shards = (unsigned)(c->end - c->first);
    const unsigned fours = (unsigned)rows * (unsigned)(c->lanes / LANE_ROUND);
    if (shards == 0) return;
    LAUNCH(fill_rows, dim3(blocks_for(fours, ROW_THREADS), 1, shards), ROW_THREADS, s, *c, rows,
           bias, z);
}

// ---- Sums over the lanes ----

// `team` neighbouring threads, a power of two up to a warp, sum a row.
static __global__ void sum_rows(cut c, unsigned rows, unsigned team, const float *z,
                                gradient_set gradients, size_t at) {
    const unsigned row = (blockIdx.x * ROW_THREADS + threadIdx.x) / team;
    const unsigned lanes = (unsigned)c.lanes, shard = (unsigned)shard_of_block(c);
    const float *from = z + ((size_t)shard * rows + row) * lanes;
    compute_early(from);
    wait_for_kernels_before();
    float sum = 0;
    if (row < rows) {
        for (unsigned i = threadIdx.x % team * LANE_ROUND; i < lanes; i += team * LANE_ROUND) {
            const four f = load_four(from + i);
            sum += (f.v[0] + f.v[1]) + (f.v[2] + f.v[3]);
        }
    }
    for (unsigned distance = team / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, (int)distance);
    if (row < rows && threadIdx.x % team == 0)
        gradients.base[shard * gradients.stride + at + row] = sum;
}

void cuda_sum_rows(launch_stream s, const cut *c, int rows, const float *z, const gradient_set *r,
                   size_t at) {
    const unsigned shards = (unsigned)(c->end - c->first), fours = (unsigned)c->lanes / LANE_ROUND;
    unsigned team = 1;
    while (team < WARP && team < fours) team *= 2;
    if (shards == 0) return;
    LAUNCH(sum_rows, dim3(blocks_for((size_t)rows * team, ROW_THREADS), 1, shards), ROW_THREADS, s,
           *c, (unsigned)rows, team, z, *r, at);
}
