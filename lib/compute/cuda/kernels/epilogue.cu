// SPDX-License-Identifier: MIT
// The layers after a convolution or a linear layer, in one pass over its output: batch norm's scale
// and shift, a sum, an activation, 2×2 max pooling; and their backward pass. The values chosen and
// cut off are those of cpu/kernels/epilogue.c.
//
// A thread works on four neighbouring samples. All threads of a launch have the same parts of a
// epilogue, so testing for them costs nothing compared with the memory reads. Activations other
// than ReLU need more registers, so they have kernels of their own.
#include "compute/cuda/kernels/epilogue_window.cuh"

#include "compute/cuda/kernels/activation.cuh"
#include "compute/cuda/kernels/gradient_sums.cuh"
#include "compute/cuda/kernels/lanes.cuh"
#include "compute/cuda/kernels/last_block.cuh"

enum { EPILOGUE_THREADS = 256 };

// ---- Positions ----

struct four_position {
    unsigned channel, y, x, lane;
};

// Returns the position of the i-th four, with `height` rows and `width` columns per channel.
static __device__ __forceinline__ four_position position_of(unsigned i, unsigned height,
                                                            unsigned width, int lanes) {
    const unsigned fours = (unsigned)lanes / LANE_ROUND;
    const unsigned column = i / fours, row = column / width;
    return four_position{row / height, row % height, column % width, i % fours * LANE_ROUND};
}

// Returns the floats from the start of a shard's z to the upper left element of a window.
static __device__ __forceinline__ unsigned window_at(shape z, four_position p, int lanes) {
    const unsigned row = p.channel * (unsigned)z.height + 2 * p.y;
    return (row * (unsigned)z.width + 2 * p.x) * (unsigned)lanes + p.lane;
}

static __host__ __device__ __forceinline__ shape result_shape(const cuda_epilogue_task &t) {
    return t.pool ? shape{t.size.channels, t.size.height / 2, t.size.width / 2} : t.size;
}

// ---- Forward ----

template <bool SMOOTH> static __global__ void epilogue_forward(cut c, cuda_epilogue_task t) {
    const unsigned n = shard_floats(t.size, c.lanes);
    const unsigned at = (blockIdx.x * EPILOGUE_THREADS + threadIdx.x) * LANE_ROUND;
    const unsigned channel = at / plane_floats(t.size, c.lanes);
    const int shard = shard_of_block(c);
    const size_t first = (size_t)shard * n;
    compute_early(channel);
    wait_for_kernels_before();
    if (at >= n) return;
    const affine a = affine_of(t, shard, channel);
    four f = load_four(t.z + first + at);
    const four second = t.second ? load_four(t.second + first + at) : four{};
    for (int k = 0; k < LANE_ROUND; k++) {
        float v = normalise(t, a, f.v[k]);
        if (t.second) v += second.v[k];
        f.v[k] = SMOOTH ? activate(v, t.numbers, t.activation).value : passes(t, v) ? v : 0;
    }
    store_four(t.y + first + at, f);
}

static __global__ void epilogue_forward_pool(cut c, cuda_epilogue_task t) {
    const shape out = result_shape(t);
    const unsigned n = shard_floats(out, c.lanes);
    const unsigned i = blockIdx.x * EPILOGUE_THREADS + threadIdx.x;
    const int shard = shard_of_block(c);
    const four_position p = position_of(i, (unsigned)out.height, (unsigned)out.width, c.lanes);
    const float *z =
        t.z + (size_t)shard * shard_floats(t.size, c.lanes) + window_at(t.size, p, c.lanes);
    compute_early(z);
    wait_for_kernels_before();
    if (i >= n / LANE_ROUND) return;
    four window[WINDOW], best;
    for (int j = 0; j < WINDOW; j++) window[j] = load_four(z + window_step(t.size, j, c.lanes));
    const affine a = affine_of(t, shard, p.channel);
    uint32_t argmaxes = 0;
    for (int k = 0; k < LANE_ROUND; k++) {
        float v[WINDOW];
        for (int j = 0; j < WINDOW; j++) v[j] = normalise(t, a, window[j].v[k]);
        const choice r = pick(t, v);
        best.v[k] = r.value;
        argmaxes |= r.which << (8 * k);
    }
    const size_t at = (size_t)shard * n + (size_t)i * LANE_ROUND;
    store_four(t.y + at, best);
    *reinterpret_cast<uint32_t *>(t.argmax + at) = argmaxes;
}

// Returns a grid with one thread on every four of `floats` floats per shard.
static dim3 grid_of(const cut *c, size_t floats) {
    return dim3(blocks_for(floats / LANE_ROUND, EPILOGUE_THREADS), 1,
                (unsigned)(c->end - c->first));
}

void cuda_epilogue(launch_stream s, const cut *c, const cuda_epilogue_task *t) {
    const dim3 grid = grid_of(c, shard_floats(result_shape(*t), c->lanes));
    if (grid.x == 0 || grid.z == 0) return;
    if (t->pool)
        LAUNCH(epilogue_forward_pool, grid, EPILOGUE_THREADS, s, *c, *t);
    else if (is_smooth(t->activation))
        LAUNCH(epilogue_forward<true>, grid, EPILOGUE_THREADS, s, *c, *t);
    else
        LAUNCH(epilogue_forward<false>, grid, EPILOGUE_THREADS, s, *c, *t);
}

// ---- The gradient through the activation alone ----

// After a ReLU, y shows which elements it has passed.
template <bool SMOOTH> static __global__ void epilogue_activation(cut c, cuda_epilogue_task t) {
    const unsigned n = shard_floats(t.size, c.lanes);
    const unsigned at = (blockIdx.x * EPILOGUE_THREADS + threadIdx.x) * LANE_ROUND;
    const unsigned channel = at / plane_floats(t.size, c.lanes);
    const int shard = shard_of_block(c);
    const size_t here = (size_t)shard * n + at;
    compute_early(channel);
    wait_for_kernels_before();
    if (at >= n) return;
    const affine a = affine_of(t, shard, channel);
    const four v = load_four((SMOOTH ? t.z : t.y) + here);
    four dy = load_four(t.dy + here);
    for (int k = 0; k < LANE_ROUND; k++) {
        if (SMOOTH)
            dy.v[k] *= activate(normalise(t, a, v.v[k]), t.numbers, t.activation).derivative;
        else
            dy.v[k] = passes(t, v.v[k]) ? dy.v[k] : 0;
    }
    store_four(t.dy + here, dy);
}

void cuda_epilogue_activation(launch_stream s, const cut *c, const cuda_epilogue_task *t) {
    const dim3 grid = grid_of(c, shard_floats(t->size, c->lanes));
    if (grid.z == 0) return;
    if (is_smooth(t->activation))
        LAUNCH(epilogue_activation<true>, grid, EPILOGUE_THREADS, s, *c, *t);
    else
        LAUNCH(epilogue_activation<false>, grid, EPILOGUE_THREADS, s, *c, *t);
}

// ---- Sums of the gradients ----

// The position of a warp's threads in y, in steps of WARP fours.
struct warp_walk {
    unsigned at, lane, x, y; // in fours from the channel's start; the same as coordinates
    unsigned lane_step, x_step, y_step, fours, width;
};

static __device__ __forceinline__ warp_walk walk_begin(unsigned at, unsigned width, int lanes) {
    const unsigned fours = (unsigned)lanes / LANE_ROUND;
    return warp_walk{at,           at % fours,           at / fours % width,   at / fours / width,
                     WARP % fours, WARP / fours % width, WARP / fours / width, fours,
                     width};
}

static __device__ __forceinline__ void walk_next(warp_walk *w) {
    w->at += WARP;
    w->lane += w->lane_step;
    w->x += w->x_step;
    w->y += w->y_step;
    if (w->lane >= w->fours) {
        w->lane -= w->fours;
        w->x++;
    }
    if (w->x >= w->width) {
        w->x -= w->width;
        w->y++;
    }
}

// `parts` blocks work on a channel; each of their warps sums WARP · rounds fours.
typedef struct epilogue_split {
    unsigned threads, rounds, parts;
} epilogue_split;

enum { ROUNDS_MOST = WARP };

// Two blocks per processor, if there are enough fours.
static epilogue_split split_of(const cuda_epilogue_task *t, int lanes) {
    const unsigned fours = plane_floats(result_shape(*t), lanes) / LANE_ROUND;
    const unsigned wanted = blocks_for(2 * PROCESSORS, (unsigned)t->size.channels);
    unsigned each = EPILOGUE_THREADS * ROUNDS_MOST;
    while (each > WARP && (each / 2 >= fours || blocks_for(fours, each) < wanted)) each /= 2;
    const unsigned threads = each < EPILOGUE_THREADS ? each : (unsigned)EPILOGUE_THREADS;
    return epilogue_split{threads, each / threads, blocks_for(fours, each)};
}

// Returns the sum of a warp's fours, in all of its threads.
template <bool POOL>
static __device__ __forceinline__ two_sums sum_of_warp(const cuda_epilogue_task &t, int shard,
                                                       unsigned channel, int lanes, int samples,
                                                       unsigned first, unsigned rounds) {
    const shape out = result_shape(t);
    const unsigned plane = plane_floats(out, lanes), lane = threadIdx.x % WARP;
    const size_t number = (size_t)shard * (size_t)out.channels + channel;
    const float *dy = t.dy + number * plane;
    const float *z = t.z + number * plane_floats(t.size, lanes);
    const affine a = affine_of(t, shard, channel);
    const statistics s = statistics_of(t, shard, channel);
    two_sums mine = {0, 0}; // the sum of round number `lane`
    warp_walk w = walk_begin(first + lane, (unsigned)out.width, lanes);
    for (unsigned i = 0; i < rounds; i++, walk_next(&w)) {
        const unsigned at = w.at * LANE_ROUND, sample = w.lane * LANE_ROUND;
        const int live = at < plane ? samples - (int)sample : 0;
        const unsigned corner = (2 * w.y * (unsigned)t.size.width + 2 * w.x) * (unsigned)lanes;
        const reached r = POOL ? reached_in_window(t, lanes, live, z + corner + sample,
                                                   t.argmax + number * plane + at)
                               : reached_at(t, a, live, z + at);
        const four f = live > 0 ? load_four(dy + at) : four{};
        const two_sums sum = neighbours_sums<WARP>(gradient_sums(r, s, f.v));
        if (i == lane) mine = sum;
    }
    return neighbours_sums<WARP>(mine);
}

// Returns the sum of a channel's parts, by one warp.
static __device__ __forceinline__ two_sums sum_of_parts(const double *parts, unsigned count) {
    const unsigned lane = threadIdx.x;
    tree<two_sums> along;
    along.leaves = 0;
    for (unsigned first = 0; first < count; first += WARP) {
        const double *part = parts + 2 * (size_t)(first + lane);
        const bool exists = first + lane < count;
        const two_sums own = exists ? two_sums{__ldcg(part), __ldcg(part + 1)} : two_sums{0, 0};
        tree_push(&along, neighbours_sums<WARP>(own));
    }
    return tree_total(&along);
}

template <bool POOL>
static __global__ void __launch_bounds__(EPILOGUE_THREADS)
    epilogue_sums(cut c, cuda_epilogue_task t, epilogue_split split) {
    wait_for_kernels_before();
    __shared__ two_sums of_warp[EPILOGUE_THREADS / WARP];
    const int shard = shard_of_block(c), samples = c.count[shard];
    const unsigned channel = blockIdx.x / split.parts, part = blockIdx.x % split.parts;
    const unsigned warp = threadIdx.x / WARP, warps = split.threads / WARP;
    const size_t number = (size_t)shard * (size_t)t.size.channels + channel;
    double *parts = t.parts + 2 * number * split.parts;
    const unsigned first = (part * warps + warp) * WARP * split.rounds;
    const two_sums own =
        sum_of_warp<POOL>(t, shard, channel, c.lanes, samples, first, split.rounds);
    if (threadIdx.x % WARP == 0) of_warp[warp] = own;
    __syncthreads();
    if (warp == 0) {
        const bool exists = threadIdx.x < warps;
        const two_sums sum = neighbours_sums<WARP>(exists ? of_warp[threadIdx.x] : two_sums{0, 0});
        if (threadIdx.x == 0) {
            parts[2 * part] = sum.a;
            parts[2 * part + 1] = sum.b;
        }
    }
    if (!is_last_block(t.counters + number, split.parts) || warp > 0) return;
    const two_sums total = sum_of_parts(parts, split.parts);
    if (threadIdx.x == 0) set_gradient(t, shard, (int)channel, total, samples);
}

parts_room cuda_epilogue_sums_room(const cuda_epilogue_task *t, int lanes, int shards) {
    const size_t channels = (size_t)shards * (size_t)t->size.channels;
    return {2 * channels * split_of(t, lanes).parts, channels};
}

void cuda_epilogue_sums(launch_stream s, const cut *c, const cuda_epilogue_task *t) {
    const epilogue_split split = split_of(t, c->lanes);
    const dim3 grid((unsigned)t->size.channels * split.parts, 1, (unsigned)(c->end - c->first));
    if (grid.z == 0) return;
    if (t->pool)
        LAUNCH(epilogue_sums<true>, grid, split.threads, s, *c, *t, split);
    else
        LAUNCH(epilogue_sums<false>, grid, split.threads, s, *c, *t, split);
}

// ---- Backward ----

struct factors {
    float dy, z, mean, one;
};

static __device__ __forceinline__ factors factors_of(const cuda_epilogue_task &t, int shard,
                                                     unsigned channel) {
    if (!t.norm) return factors{1, 0, 0, 0};
    const size_t at = (size_t)shard * t.norm_stride + channel;
    return factors{t.from_dy[at], t.from_z[at], t.mean[at], t.from_one[at]};
}

static __device__ __forceinline__ float to_dz(const cuda_epilogue_task &t, factors f, float dt,
                                              float z) {
    return t.norm ? fmaf(f.dy, dt, fmaf(f.z, z - f.mean, f.one)) : dt;
}

static __global__ void epilogue_backward(cut c, cuda_epilogue_task t) {
    const unsigned n = shard_floats(t.size, c.lanes);
    const unsigned at = (blockIdx.x * EPILOGUE_THREADS + threadIdx.x) * LANE_ROUND;
    const unsigned channel = at / plane_floats(t.size, c.lanes);
    const int lane = (int)(at % (unsigned)c.lanes);
    compute_early(channel);
    compute_early(lane);
    wait_for_kernels_before();
    if (at >= n) return;
    const int shard = shard_of_block(c), samples = c.count[shard];
    const affine a = affine_of(t, shard, channel);
    const factors f = factors_of(t, shard, channel);
    const size_t here = (size_t)shard * n + at;
    const four dy = load_four(t.dy + here);
    // The ReLU passes the same elements as in forward: y shows them as well as z.
    four v = t.norm                            ? load_four(t.z + here)
             : t.activation == ACTIVATION_RELU ? load_four(t.y + here)
                                               : four{};
    for (int k = 0; k < LANE_ROUND; k++) {
        const float dt = passes(t, normalise(t, a, v.v[k])) ? dy.v[k] : 0;
        v.v[k] = lane + k < samples ? to_dz(t, f, dt, v.v[k]) : 0;
    }
    store_four((t.dz_replaces_dy ? t.dy : t.z) + here, v);
}

// dy and argmaxes of a window; none if it extends past the edge, because pooling has no such window
// (odd heights and widths).
struct pooled {
    four dy;
    uint32_t argmaxes;
};

static __device__ __forceinline__ pooled pooled_at(const cuda_epilogue_task &t, int shard,
                                                   four_position p, int lanes) {
    const shape out = result_shape(t);
    if (p.y >= (unsigned)out.height || p.x >= (unsigned)out.width) return pooled{{{0, 0, 0, 0}}, 0};
    const unsigned row = p.channel * (unsigned)out.height + p.y;
    const size_t at = (size_t)shard * shard_floats(out, lanes) +
                      ((row * (unsigned)out.width + p.x) * (unsigned)lanes + p.lane);
    return pooled{load_four(t.dy + at), four_argmaxes(t.argmax + at)};
}

static __global__ void epilogue_backward_pool(cut c, cuda_epilogue_task t, unsigned n) {
    const unsigned i = blockIdx.x * EPILOGUE_THREADS + threadIdx.x;
    const unsigned height = (unsigned)t.size.height, width = (unsigned)t.size.width;
    const four_position p = position_of(i, (height + 1) / 2, (width + 1) / 2, c.lanes);
    compute_early(p.channel);
    wait_for_kernels_before();
    if (i >= n) return;
    const int shard = shard_of_block(c), samples = c.count[shard];
    const pooled from = pooled_at(t, shard, p, c.lanes);
    const factors f = factors_of(t, shard, p.channel);
    float *corner =
        t.z + (size_t)shard * shard_floats(t.size, c.lanes) + window_at(t.size, p, c.lanes);
    const bool below = 2 * p.y + 1 < height, right = 2 * p.x + 1 < width; // elements that exist
    const bool live[WINDOW] = {true, right, below, below && right};
    // All loads come before the first store: the compiler cannot know that they do not overlap.
    four v[WINDOW];
    for (int j = 0; j < WINDOW; j++) {
        v[j] = four{{0, 0, 0, 0}};
        if (t.norm && live[j]) v[j] = load_four(corner + window_step(t.size, j, c.lanes));
    }
    for (int j = 0; j < WINDOW; j++) {
        if (!live[j]) continue;
        for (int k = 0; k < LANE_ROUND; k++) {
            const float dt = argmax_of(from.argmaxes, k) == (uint32_t)j ? from.dy.v[k] : 0;
            v[j].v[k] = (int)p.lane + k < samples ? to_dz(t, f, dt, v[j].v[k]) : 0;
        }
        store_four(corner + window_step(t.size, j, c.lanes), v[j]);
    }
}

void cuda_epilogue_backward(launch_stream s, const cut *c, const cuda_epilogue_task *t) {
    // With pooling a thread handles a whole window, so that dy and argmax are read once.
    const shape windows = {t->size.channels, (t->size.height + 1) / 2, (t->size.width + 1) / 2};
    const unsigned n = shard_floats(t->pool ? windows : t->size, c->lanes);
    const dim3 grid = grid_of(c, n);
    if (grid.z == 0) return;
    if (t->pool)
        LAUNCH(epilogue_backward_pool, grid, EPILOGUE_THREADS, s, *c, *t, n / LANE_ROUND);
    else
        LAUNCH(epilogue_backward, grid, EPILOGUE_THREADS, s, *c, *t);
}
