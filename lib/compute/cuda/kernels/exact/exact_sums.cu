// SPDX-License-Identifier: MIT
// Products with few sums, such as those of small linear layers: a thread has one sum, and adds all
// of its terms, beginning with the bias. A block's threads are the lanes of some samples × some
// outputs. They read the factors from shared memory, some terms at a time; those of the next terms
// are copied meanwhile.
#include "compute/cuda/kernels/async_copy.cuh"
#include "compute/cuda/kernels/exact/exact_correlation.cuh"

enum {
    SAMPLES = 32, // of a block, a warp each output
    OUTPUTS = 4,
    SUM_THREADS = SAMPLES * OUTPUTS,
    TERMS = 64,   // of a tile
    TILES = 4,    // in shared memory: the one that is added, and those that are copied
    FEW = 1 << 15 // sums
};

struct alignas(16) sum_tile {
    float x[TERMS][SAMPLES];
    float weight[OUTPUTS][TERMS];
};

// What a thread copies of each tile: four samples of every SUM_THREADS / FOURS-th term, and a
// term's weights of every SUM_THREADS / TERMS-th output.
struct tile_source {
    enum { FOURS = SAMPLES / 4, X_STEP = SUM_THREADS / FOURS, WEIGHT_STEP = SUM_THREADS / TERMS };
    const float *x, *weight;
    ptrdiff_t x_row;                  // floats from one term to the next
    int weight_row, weight_term;      // from one output, one term to the next
    int x_term, sample, output, term; // of the thread
    int left;                         // terms from the tile's first on
    bool has_samples;
    int outputs;

    __device__ __forceinline__ tile_source(const correlation &t, size_t shard, int first_sample,
                                           int row) {
        const int thread = (int)threadIdx.x;
        x_term = thread / FOURS;
        sample = 4 * (thread % FOURS);
        output = thread / TERMS;
        term = thread % TERMS;
        x_row = t.in_plane;
        weight_row = t.weight_row;
        weight_term = t.weight_channel;
        x = t.from + (ptrdiff_t)(shard * (size_t)t.in.channels + (size_t)x_term) * x_row +
            first_sample + sample;
        weight =
            t.weight + t.weight_first + (ptrdiff_t)(row + output) * weight_row + term * weight_term;
        left = t.terms;
        has_samples = first_sample + sample < t.lanes;
        outputs = t.out.channels - row;
    }

    // Copies a tile, and goes on to the next one. Past the last term, zeros are not added.
    __device__ __forceinline__ void copy(sum_tile &to) {
#pragma unroll
        for (int i = 0; i < TERMS / X_STEP; i++)
            copy_four(&to.x[x_term + i * X_STEP][sample], x + i * X_STEP * x_row,
                      has_samples && x_term + i * X_STEP < left);
#pragma unroll
        for (int i = 0; i < OUTPUTS / WEIGHT_STEP; i++)
            copy_one(&to.weight[output + i * WEIGHT_STEP][term],
                     weight + (ptrdiff_t)(i * WEIGHT_STEP) * weight_row,
                     term < left && output + i * WEIGHT_STEP < outputs);
        end_copies();
        x += TERMS * x_row;
        weight += (ptrdiff_t)TERMS * weight_term;
        left -= TERMS;
    }
};

static __device__ __forceinline__ float add_tile(const sum_tile &tile, int lane, int output,
                                                 int terms, float sum) {
    if (terms < TERMS) {
        for (int i = 0; i < terms; i++) sum = fmaf(tile.weight[output][i], tile.x[i][lane], sum);
        return sum;
    }
#pragma unroll
    for (int i = 0; i < TERMS; i += 4) {
        const float4 w = load_four(&tile.weight[output][i]);
        sum = fmaf(w.x, tile.x[i][lane], sum);
        sum = fmaf(w.y, tile.x[i + 1][lane], sum);
        sum = fmaf(w.z, tile.x[i + 2][lane], sum);
        sum = fmaf(w.w, tile.x[i + 3][lane], sum);
    }
    return sum;
}

// blockIdx: samples, outputs, the shard.
static __global__ void __launch_bounds__(SUM_THREADS) correlate_few_sums(ordered_correlation t) {
    __shared__ sum_tile tiles[TILES];
    const correlation &p = t.product;
    const int lane = (int)threadIdx.x % SAMPLES, output = (int)threadIdx.x / SAMPLES;
    const int sample = (int)blockIdx.x * SAMPLES, row = (int)blockIdx.y * OUTPUTS;
    const size_t shard = (size_t)p.first + blockIdx.z;
    const bool exists = sample + lane < p.lanes && row + output < p.out.channels;
    tile_source source(p, shard, sample, row);
    wait_for_kernels_before();
#pragma unroll
    for (int i = 0; i < TILES - 1; i++) source.copy(tiles[i]);
    float sum = t.bias && exists ? t.bias[row + output] : 0.0f;
    for (int first = 0, turn = 0; first < p.terms; first += TERMS, turn = (turn + 1) % TILES) {
        wait_for_copies<TILES - 2>();
        __syncthreads(); // the tile is here, and all threads have added the one before it
        source.copy(tiles[(turn + TILES - 1) % TILES]);
        sum = add_tile(tiles[turn], lane, output, p.terms - first, sum);
    }
    if (exists)
        t.to[(shard * (size_t)p.out.channels + (size_t)(row + output)) * (size_t)p.columns +
             (size_t)(sample + lane)] = sum;
}

bool cuda_exact_has_few_sums(const cut *c, const ordered_correlation *t) {
    const correlation &p = t->product;
    const size_t sums = (size_t)p.out.channels * (size_t)p.columns * parts_of(c, p);
    return p.columns == p.lanes && p.in_plane == p.lanes && p.channel_parts == 1 &&
           p.kernel.middle == 1 && p.kernel.low == 1 && t->part >= p.terms && t->phase.width == 0 &&
           sums > 0 && sums <= FEW;
}

void cuda_exact_correlate_few_sums(launch_stream s, const cut *c, const ordered_correlation *t) {
    const correlation &p = t->product;
    const dim3 grid(blocks_for((size_t)p.lanes, SAMPLES),
                    blocks_for((size_t)p.out.channels, OUTPUTS), parts_of(c, p));
    LAUNCH(correlate_few_sums, grid, SUM_THREADS, s, *t);
}
