// SPDX-License-Identifier: MIT
// exact.cuh - for the kernels that add in the order of the CPU's engine (exact_*.cu; "Sums have one
// order" in docs/differences.md): groups of samples, and sums over the planes of channels.
//
// The samples of a shard form groups of 16. A CPU has them in the lanes of its vectors: it sums
// over everything else sample by sample, then over the lanes of a group by halves, and then over
// the groups along the tree. Here, 16 neighbouring threads are the lanes.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_CUH

#include "compute/cuda/kernels/last_block.cuh"
#include "compute/cuda/kernels/tree.cuh"

static __host__ __device__ __forceinline__ unsigned groups_of(int samples) {
    return blocks_for((size_t)samples, GROUP);
}

// Returns the index nearest to `at` that exists: for a load without a condition, with which the
// compiler would put it right before its use.
static __device__ __forceinline__ int clamped(int at, int size) {
    const int low = at > 0 ? at : 0;
    return low < size - 1 ? low : size - 1;
}

// Returns how many samples a group has, of those of its shard.
static __device__ __forceinline__ int samples_of_group(int samples, unsigned group) {
    const int left = samples - (int)(group * GROUP);
    return left < GROUP ? left : (int)GROUP;
}

// Returns the lanes of the CPU's kernels for shards with so many lanes: 4, 8 or 16 (simd.h).
static __host__ __device__ __forceinline__ int cpu_lanes(int lanes) {
    return lanes <= 4 ? 4 : lanes <= 8 ? 8 : (int)GROUP;
}

// Returns the sum over the first `width` of 16 neighbouring threads, in all of these: 8 + 8, 4 + 4,
// … All threads of a warp must call it.
static __device__ __forceinline__ float sum_by_halves(float value, int width) {
    for (int distance = width / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

// ---- Sums over the plane of a channel ----

// A block takes some groups and channels: threadIdx.x is the sample, .y a row, .z the channel and,
// of `together` groups, the group.
enum { PLANE_THREADS = 256, PLANE_THREADS_MOST = 512 };

struct two_floats {
    float a, b;
};

static __device__ __forceinline__ two_floats add(two_floats x, two_floats y) {
    return two_floats{x.a + y.a, x.b + y.b};
}

static inline dim3 plane_block(int height, unsigned threads = PLANE_THREADS) {
    unsigned rows = 1;
    while (rows < (unsigned)height && rows < threads / GROUP) rows *= 2;
    return dim3(GROUP, rows, threads / GROUP / rows);
}

static inline dim3 plane_grid(const cut *c, int channels, dim3 block, unsigned together = 1) {
    return dim3(blocks_for((size_t)channels, block.z / together),
                blocks_for(groups_of(c->lanes), together), (unsigned)(c->end - c->first));
}

// A thread's place in such a block.
struct plane_place {
    int shard, channel;
    unsigned group, first_group; // its own, and the first of the block
    int samples;                 // of the group; 0 or less: none
    int sample;                  // of the shard
    bool live;                   // it has data
};

static __device__ __forceinline__ plane_place place_in_plane(const cut &c, int channels,
                                                             unsigned together = 1) {
    plane_place p;
    p.shard = shard_of_block(c);
    p.channel = (int)((blockIdx.x * blockDim.z + threadIdx.z) / together);
    p.first_group = blockIdx.y * together;
    p.group = p.first_group + threadIdx.z % together;
    p.samples = samples_of_group(c.count[p.shard], p.group);
    p.sample = (int)(p.group * GROUP + threadIdx.x);
    p.live = p.channel < channels && (int)threadIdx.x < p.samples;
    return p;
}

// Adds the sums of rows, in order. `row(y)` returns those of a row. The result is in the threads of
// row 0. All threads of the block must call it, also those without data.
template <typename Row>
static __device__ __forceinline__ two_floats sum_of_rows(int height, bool live, const Row &row) {
    enum { AHEAD = 8 };
    __shared__ two_floats of[PLANE_THREADS_MOST + (AHEAD - 1) * GROUP];
    const int rows = (int)blockDim.y, own = (int)thread_of_block();
    two_floats total = {0, 0};
    for (int first = 0; first < height; first += rows) {
        const int y = first + (int)threadIdx.y;
        const two_floats sum = live && y < height ? row(y) : two_floats{0, 0};
        if (rows == 1) {
            total = add(total, sum);
            continue;
        }
        of[own] = sum;
        __syncthreads();
        const int end = rows < height - first ? rows : height - first;
        for (int i = 0; threadIdx.y == 0 && i < end; i += AHEAD) {
            two_floats next[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) next[k] = of[own + (i + k) * GROUP];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) total = i + k < end ? add(total, next[k]) : total;
        }
        __syncthreads();
    }
    return total;
}

// Sums of a row: four of every fourth element, then the sum of the four.
struct row_chains {
    two_floats of[4];

    __device__ __forceinline__ two_floats total() const {
        return two_floats{(of[0].a + of[1].a) + (of[2].a + of[3].a),
                          (of[0].b + of[1].b) + (of[2].b + of[3].b)};
    }
};

// The sums of a row of `width` elements. `load(x)` returns element x, and `add(value, exists, sum)`
// adds it, or zeros. The loads of several elements are under way together.
template <typename Load, typename Add>
static __device__ __forceinline__ two_floats sum_of_row(int width, const Load &load,
                                                        const Add &add) {
    enum { AHEAD = 16 };
    row_chains chains = {};
    for (int x = 0; x < width; x += AHEAD) {
        float v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) v[k] = load(clamped(x + k, width));
#pragma unroll
        for (int k = 0; k < AHEAD; k++) add(v[k], x + k < width, chains.of[k % 4]);
    }
    return chains.total();
}

// The same of the first `width` of N elements.
template <int N, typename Add>
static __device__ __forceinline__ two_floats sum_of_elements(int width, const float (&v)[N],
                                                             const Add &add) {
    row_chains chains = {};
#pragma unroll
    for (int k = 0; k < N; k++) add(v[k], k < width, chains.of[k % 4]);
    return chains.total();
}

// ---- Two numbers of each channel and group ----

// The blocks of plane_grid write the numbers of groups; the last one of a shard and its channels
// also adds these groups up.

// [shard][group][channel]
static __device__ __forceinline__ two_sums *numbers_of(double *parts, const cut &c, int channels,
                                                       int shard, unsigned group) {
    const size_t at = (size_t)shard * groups_of(c.lanes) + group;
    return reinterpret_cast<two_sums *>(parts) + at * (size_t)channels;
}

// As is_last_block, of the blocks with samples; also true for block 0 of a shard without samples.
static __device__ __forceinline__ bool is_last_group(const cut &c, const plane_place &p,
                                                     unsigned together, unsigned *counters) {
    const unsigned groups = groups_of(c.count[p.shard]);
    const size_t own = (size_t)p.shard * gridDim.x + blockIdx.x;
    if (p.first_group >= groups) return groups == 0 && blockIdx.y == 0;
    return is_last_block(counters + own, (groups + together - 1) / together);
}

// Returns a group's numbers of a channel, written by another block.
static __device__ __forceinline__ two_sums numbers_written(double *parts, const cut &c,
                                                           int channels, const plane_place &p,
                                                           unsigned group) {
    const double *of = &numbers_of(parts, c, channels, p.shard, group)[p.channel].a;
    return two_sums{__ldcg(of), __ldcg(of + 1)};
}

// The value of the thread `distance` further on. T consists of 4-byte words.
template <class T>
static __device__ __forceinline__ T value_further_on(const T &value, int distance) {
    enum { WORDS = sizeof(T) / sizeof(unsigned) };
    static_assert(WORDS * sizeof(unsigned) == sizeof(T), "words");
    unsigned words[WORDS];
    T result;
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        words[i] = __shfl_down_sync(ALL_LANES, words[i], (unsigned)distance);
    memcpy(&result, words, sizeof result);
    return result;
}

// As tree_sum, by 16 neighbouring threads: each has a subtree. The result is in the first one. All
// threads of a warp must call it, for as many leaves.
template <class T, class Leaf>
static __device__ __forceinline__ T tree_sum_by_team(unsigned n, const Leaf &leaf) {
    unsigned each = 1;
    while (each * GROUP < n) each *= 2;
    const unsigned first = threadIdx.x * each, left = first < n ? n - first : 0;
    T sum = {};
    if (left > 0)
        sum = tree_sum<T>(left < each ? left : each, [&](unsigned i) { return leaf(first + i); });
    for (unsigned distance = 1; distance < GROUP; distance *= 2) {
        const T other = value_further_on(sum, (int)distance);
        if (threadIdx.x % (2 * distance) == 0 && distance * each < left) sum = add(sum, other);
    }
    return sum;
}

static inline parts_room numbers_room(int channels, int lanes, int shards) {
    const size_t numbers = (size_t)shards * (size_t)channels;
    return {2 * groups_of(lanes) * numbers, numbers};
}

#endif
