// What follows a convolution or a linear layer, in one pass over its output: batch norm's scale and
// shift, ReLU, 2×2 max pooling; and the way back. What is chosen and cut off is what
// cpu/kernels/tail.c chooses and cuts off.
//
// A thread works on four neighbouring samples. Which parts a tail has is the same for all threads
// of a launch, so asking for it costs nothing next to the memory that is read.
#include "compute/cuda/tail.cuh"

#include "compute/cuda/lanes.cuh"
#include "compute/cuda/norm.cuh"

enum {
    TAIL_THREADS = 256,
    READS = 2 // of z and dy, that a thread has under way before it looks at one of them
};

// ---- Places ----

struct place {
    unsigned channel, y, x, lane;
};

// Where the i-th four lies among so many rows and columns a channel.
static __device__ __forceinline__ place place_of(unsigned i, unsigned height, unsigned width,
                                                 int lanes) {
    const unsigned fours = (unsigned)lanes / LANE_ROUND;
    const unsigned column = i / fours, row = column / width;
    return place{row / height, row % height, column % width, i % fours * LANE_ROUND};
}

// Floats from the begin of a shard's z to the upper left element of a window.
static __device__ __forceinline__ unsigned window_at(shape z, place p, int lanes) {
    const unsigned row = p.channel * (unsigned)z.height + 2 * p.y;
    return (row * (unsigned)z.width + 2 * p.x) * (unsigned)lanes + p.lane;
}

// And from there to its j-th element.
static __device__ __forceinline__ unsigned window_step(shape z, int j, int lanes) {
    return ((unsigned)(j >> 1) * (unsigned)z.width + (unsigned)(j & 1)) * (unsigned)lanes;
}

static __host__ __device__ __forceinline__ shape result_shape(const tail_task &t) {
    return t.pool ? shape{t.size.channels, t.size.height / 2, t.size.width / 2} : t.size;
}

// A byte for each of four lanes.
static __device__ __forceinline__ uint32_t winners_at(const tail_task &t, size_t at) {
    return *reinterpret_cast<const uint32_t *>(t.winner + at);
}

static __device__ __forceinline__ uint32_t winner_of(uint32_t winners, int lane) {
    return winners >> (8 * lane) & 0xff;
}

// ---- Forward ----

static __global__ void tail_forward(cut c, tail_task t) {
    const unsigned n = shard_floats(t.size, c.lanes);
    const unsigned at = (blockIdx.x * TAIL_THREADS + threadIdx.x) * LANE_ROUND;
    if (at >= n) return;
    const int shard = shard_of_block(c);
    const size_t first = (size_t)shard * n;
    const affine a = affine_of(t, shard, at / plane_floats(t.size, c.lanes));
    four f = load_four(t.z + first + at);
    for (int k = 0; k < LANE_ROUND; k++) {
        const float v = normalise(t, a, f.v[k]);
        f.v[k] = passes(t, v) ? v : 0;
    }
    store_four(t.y + first + at, f);
}

static __global__ void tail_forward_pool(cut c, tail_task t) {
    const shape out = result_shape(t);
    const unsigned n = shard_floats(out, c.lanes);
    const unsigned i = blockIdx.x * TAIL_THREADS + threadIdx.x;
    if (i >= n / LANE_ROUND) return;
    const int shard = shard_of_block(c);
    const place p = place_of(i, (unsigned)out.height, (unsigned)out.width, c.lanes);
    const float *z =
        t.z + (size_t)shard * shard_floats(t.size, c.lanes) + window_at(t.size, p, c.lanes);
    four window[WINDOW], best;
    for (int j = 0; j < WINDOW; j++) window[j] = load_four(z + window_step(t.size, j, c.lanes));
    const affine a = affine_of(t, shard, p.channel);
    uint32_t winners = 0;
    for (int k = 0; k < LANE_ROUND; k++) {
        float v[WINDOW];
        for (int j = 0; j < WINDOW; j++) v[j] = normalise(t, a, window[j].v[k]);
        const choice r = pick(t, v);
        best.v[k] = r.value;
        winners |= r.which << (8 * k);
    }
    const size_t at = (size_t)shard * n + (size_t)i * LANE_ROUND;
    store_four(t.y + at, best);
    *reinterpret_cast<uint32_t *>(t.winner + at) = winners;
}

// Blocks for a thread on every four of so many floats a shard.
static dim3 grid_of(const cut *c, size_t floats) {
    return dim3(blocks_for(floats / LANE_ROUND, TAIL_THREADS), 1, (unsigned)(c->end - c->first));
}

void cuda_tail(cudaStream_t s, const cut *c, const tail_task *t) {
    const dim3 grid = grid_of(c, shard_floats(result_shape(*t), c->lanes));
    if (grid.x == 0 || grid.z == 0) return;
    if (t->pool)
        LAUNCH(tail_forward_pool, grid, TAIL_THREADS, s, *c, *t);
    else
        LAUNCH(tail_forward, grid, TAIL_THREADS, s, *c, *t);
}

// ---- Sums of the gradients ----

// Of one channel and shard: what a thread needs, and what it adds up.
struct channel_sum {
    float mean, inv_std;
    four dt, dt_xhat; // a chain for each of the four lanes, so that they do not wait for each other
};

static __device__ __forceinline__ channel_sum sum_begin(const tail_task &t, int shard,
                                                        unsigned channel) {
    const size_t at = (size_t)shard * t.norm_stride + channel;
    return channel_sum{t.mean[at], t.inv_std[at], {{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
}

static __device__ __forceinline__ void sum_add(channel_sum *s, int k, float dt, float z) {
    s->dt.v[k] += dt;
    s->dt_xhat.v[k] = fmaf(dt, (z - s->mean) * s->inv_std, s->dt_xhat.v[k]);
}

static __device__ __forceinline__ double sum_of(const four &f) {
    return ((double)f.v[0] + (double)f.v[1]) + ((double)f.v[2] + (double)f.v[3]);
}

// All threads of the block.
static __device__ __forceinline__ void sum_end(const tail_task &t, int shard, unsigned channel,
                                               const channel_sum &s, int samples) {
    const two_sums total = sums_of_block(two_sums{sum_of(s.dt), sum_of(s.dt_xhat)});
    if (threadIdx.x != 0) return;
    const unsigned channels = (unsigned)t.size.channels;
    float *record = t.records.base + (size_t)shard * t.records.stride;
    record[t.bias_at + channel] = (float)total.a;
    record[t.weight_at + channel] = (float)total.b;
    if (t.sync) {
        double *sums = t.sums + (size_t)shard * 2 * channels;
        sums[channel] = total.a;
        sums[channels + channel] = total.b;
    } else if (samples > 0) {
        const size_t at = (size_t)shard * t.norm_stride + channel;
        const norm_factors f = norm_factors_of(t.weight[channel], s.mean, s.inv_std, total,
                                               samples * positions(t.size));
        t.from_dy[at] = f.dy;
        t.from_z[at] = f.z;
        t.from_one[at] = f.one;
    }
}

static __global__ void __launch_bounds__(MAX_THREADS, 1) tail_sums(cut c, tail_task t) {
    const int shard = shard_of_block(c), samples = c.count[shard];
    const unsigned channel = blockIdx.x;
    const size_t first =
        (size_t)shard * shard_floats(t.size, c.lanes) + channel * plane_floats(t.size, c.lanes);
    const affine a = affine_of(t, shard, channel);
    channel_sum sum = sum_begin(t, shard, channel);
    for (channel_walk w = walk_begin(t.size, c.lanes, samples); w.at < w.plane;) {
        four z[READS], dy[READS];
        int live[READS];
        for (int i = 0; i < READS; i++, walk_next(&w)) {
            live[i] = walk_live(w);
            z[i] = live[i] > 0 ? load_four(t.z + first + w.at) : four{};
            dy[i] = live[i] > 0 ? load_four(t.dy + first + w.at) : four{};
        }
        for (int i = 0; i < READS; i++)
            for (int k = 0; k < LANE_ROUND; k++)
                if (k < live[i] && passes(t, normalise(t, a, z[i].v[k])))
                    sum_add(&sum, k, dy[i].v[k], z[i].v[k]);
    }
    sum_end(t, shard, channel, sum, samples);
}

static __global__ void __launch_bounds__(MAX_THREADS, 1) tail_sums_pool(cut c, tail_task t) {
    const int shard = shard_of_block(c), samples = c.count[shard];
    const shape out = result_shape(t);
    const unsigned channel = blockIdx.x, plane = plane_floats(out, c.lanes);
    const size_t first = (size_t)shard * shard_floats(out, c.lanes) + channel * plane;
    const float *z = t.z + (size_t)shard * shard_floats(t.size, c.lanes);
    channel_sum sum = sum_begin(t, shard, channel);
    for (unsigned i = threadIdx.x; i < plane / LANE_ROUND; i += blockDim.x) {
        place p = place_of(i, (unsigned)out.height, (unsigned)out.width, c.lanes);
        p.channel = channel;
        const float *corner = z + window_at(t.size, p, c.lanes);
        const four dy = load_four(t.dy + first + i * LANE_ROUND);
        const uint32_t winners = winners_at(t, first + i * LANE_ROUND);
        four window[WINDOW];
        for (int j = 0; j < WINDOW; j++)
            window[j] = load_four(corner + window_step(t.size, j, c.lanes));
        for (int k = 0; k < LANE_ROUND; k++) {
            const uint32_t which = winner_of(winners, k);
            float value = window[0].v[k];
            for (uint32_t j = 1; j < WINDOW; j++)
                if (which == j) value = window[j].v[k];
            if ((int)p.lane + k < samples && which != CUT_OFF) sum_add(&sum, k, dy.v[k], value);
        }
    }
    sum_end(t, shard, channel, sum, samples);
}

void cuda_tail_sums(cudaStream_t s, const cut *c, const tail_task *t) {
    const unsigned threads = channel_threads(plane_floats(result_shape(*t), c->lanes));
    const dim3 grid((unsigned)t->size.channels, 1, (unsigned)(c->end - c->first));
    if (grid.z == 0) return;
    if (t->pool)
        LAUNCH(tail_sums_pool, grid, threads, s, *c, *t);
    else
        LAUNCH(tail_sums, grid, threads, s, *c, *t);
}

// ---- Backward ----

struct factors {
    float dy, z, one;
};

static __device__ __forceinline__ factors factors_of(const tail_task &t, int shard,
                                                     unsigned channel) {
    if (!t.norm) return factors{1, 0, 0};
    const size_t at = (size_t)shard * t.norm_stride + channel;
    return factors{t.from_dy[at], t.from_z[at], t.from_one[at]};
}

static __device__ __forceinline__ float to_dz(const tail_task &t, factors f, float dt, float z) {
    return t.norm ? fmaf(f.dy, dt, fmaf(f.z, z, f.one)) : dt;
}

static __global__ void tail_backward(cut c, tail_task t) {
    const unsigned n = shard_floats(t.size, c.lanes);
    const unsigned at = (blockIdx.x * TAIL_THREADS + threadIdx.x) * LANE_ROUND;
    if (at >= n) return;
    const int shard = shard_of_block(c), samples = c.count[shard];
    const unsigned channel = at / plane_floats(t.size, c.lanes);
    const int lane = (int)(at % (unsigned)c.lanes);
    const affine a = affine_of(t, shard, channel);
    const factors f = factors_of(t, shard, channel);
    const size_t here = (size_t)shard * n + at;
    const four dy = load_four(t.dy + here);
    // The ReLU lets through what it let through forward: y tells that as well as z.
    four v = t.norm ? load_four(t.z + here) : t.relu ? load_four(t.y + here) : four{};
    for (int k = 0; k < LANE_ROUND; k++) {
        const float dt = passes(t, normalise(t, a, v.v[k])) ? dy.v[k] : 0;
        v.v[k] = lane + k < samples ? to_dz(t, f, dt, v.v[k]) : 0;
    }
    store_four(t.z + here, v);
}

// dy and winners of a window; none where it reaches over the edge, because pooling has no such
// window (odd heights and widths).
struct pooled {
    four dy;
    uint32_t winners;
};

static __device__ __forceinline__ pooled pooled_at(const tail_task &t, int shard, place p,
                                                   int lanes) {
    const shape out = result_shape(t);
    if (p.y >= (unsigned)out.height || p.x >= (unsigned)out.width) return pooled{{{0, 0, 0, 0}}, 0};
    const unsigned row = p.channel * (unsigned)out.height + p.y;
    const size_t at = (size_t)shard * shard_floats(out, lanes) +
                      ((row * (unsigned)out.width + p.x) * (unsigned)lanes + p.lane);
    return pooled{load_four(t.dy + at), winners_at(t, at)};
}

static __global__ void tail_backward_pool(cut c, tail_task t, unsigned n) {
    const unsigned i = blockIdx.x * TAIL_THREADS + threadIdx.x;
    if (i >= n) return;
    const int shard = shard_of_block(c), samples = c.count[shard];
    const unsigned height = (unsigned)t.size.height, width = (unsigned)t.size.width;
    const place p = place_of(i, (height + 1) / 2, (width + 1) / 2, c.lanes);
    const pooled from = pooled_at(t, shard, p, c.lanes);
    const factors f = factors_of(t, shard, p.channel);
    float *corner =
        t.z + (size_t)shard * shard_floats(t.size, c.lanes) + window_at(t.size, p, c.lanes);
    for (int j = 0; j < WINDOW; j++) {
        if (2 * p.y + (unsigned)(j >> 1) >= height || 2 * p.x + (unsigned)(j & 1) >= width)
            continue;
        float *z = corner + window_step(t.size, j, c.lanes);
        four v = t.norm ? load_four(z) : four{{0, 0, 0, 0}};
        for (int k = 0; k < LANE_ROUND; k++) {
            const float dt = winner_of(from.winners, k) == (uint32_t)j ? from.dy.v[k] : 0;
            v.v[k] = (int)p.lane + k < samples ? to_dz(t, f, dt, v.v[k]) : 0;
        }
        store_four(z, v);
    }
}

void cuda_tail_backward(cudaStream_t s, const cut *c, const tail_task *t) {
    // With pooling a thread has a whole window, so that dy and winner are read once.
    const shape windows = {t->size.channels, (t->size.height + 1) / 2, (t->size.width + 1) / 2};
    const unsigned n = shard_floats(t->pool ? windows : t->size, c->lanes);
    const dim3 grid = grid_of(c, n);
    if (grid.z == 0) return;
    if (t->pool)
        LAUNCH(tail_backward_pool, grid, TAIL_THREADS, s, *c, *t, n / LANE_ROUND);
    else
        LAUNCH(tail_backward, grid, TAIL_THREADS, s, *c, *t);
}
