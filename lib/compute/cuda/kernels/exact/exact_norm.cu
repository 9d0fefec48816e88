// SPDX-License-Identifier: MIT
// Batch norm's statistics and the sums of its gradients, in the order of the CPU's engine: of a
// group as in cpu/kernels/epilogue.c, and over the groups of a shard as in cpu/batch_norm.c. What
// follows from a shard's sums is in norm.cuh, and over the shards norm.cu has that order already.
#include <climits>

#include "compute/cuda/kernels/epilogue_window.cuh"
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/cuda/kernels/norm.cuh"

// ---- Statistics of a group ----

// Adds z - centre, and its square.
static __device__ __forceinline__ void add_centred(float z, bool exists, float centre,
                                                   two_floats &sum) {
    const float d = exists ? z - centre : 0.0f;
    sum.a += d;
    sum.b = fmaf(d, d, sum.b);
}

// A thread's elements of z, of one row after the other; or, if it has one of at most KEPT elements,
// that row in registers. KEPT 0: not so.
template <int KEPT> struct row_source {
    const float *z;
    size_t row, lanes; // floats from one row, one element to the next
    int width;
    float kept[KEPT > 0 ? KEPT : 1];

    __device__ __forceinline__ void keep(bool live) {
#pragma unroll
        for (int x = 0; x < KEPT; x++)
            if (live) kept[x] = z[(size_t)threadIdx.y * row + (size_t)clamped(x, width) * lanes];
    }

    __device__ __forceinline__ two_floats sum(int y, float centre) const {
        const auto add = [&](float v, bool exists, two_floats &sum) {
            add_centred(v, exists, centre, sum);
        };
        if constexpr (KEPT > 0) {
            return sum_of_elements<KEPT>(width, kept, add);
        } else {
            const float *from = z + (size_t)y * row;
            return sum_of_row(
                width, [&](int x) { return from[(size_t)x * lanes]; }, add);
        }
    }
};

// The sum of z - centre of a channel, and of its square; of all samples of the group.
template <int KEPT>
static __device__ __forceinline__ two_floats centred_sums(const cut &c, int height, bool live,
                                                          const row_source<KEPT> &rows,
                                                          float centre) {
    const two_floats total = sum_of_rows(height, live, [&](int y) { return rows.sum(y, centre); });
    const int width = cpu_lanes(c.lanes);
    return two_floats{sum_by_halves(total.a, width), sum_by_halves(total.b, width)};
}

// The numbers of a channel: the corrected two-pass algorithm of cpu/kernels/epilogue.c. The first
// pass takes the differences from 0, which are the values themselves.
template <int KEPT>
static __device__ __forceinline__ void write_moments_of(const cut &c, const norm_task &t,
                                                        const plane_place &p, bool leads) {
    __shared__ float centres[PLANE_THREADS_MOST / GROUP];
    const size_t row = (size_t)t.size.width * (size_t)c.lanes;
    const size_t number = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    row_source<KEPT> rows = {t.z + number * (size_t)t.size.height * row + p.sample,
                             row,
                             (size_t)c.lanes,
                             t.size.width,
                             {}};
    const double n = p.samples * positions(t.size);
    rows.keep(p.live && (int)threadIdx.y < t.size.height);
    const two_floats first = centred_sums(c, t.size.height, p.live, rows, 0.0f);
    if (threadIdx.x == 0 && threadIdx.y == 0) centres[threadIdx.z] = (float)((double)first.a / n);
    __syncthreads();
    const float centre = centres[threadIdx.z];
    const two_floats sum = centred_sums(c, t.size.height, p.live, rows, centre);
    if (!leads) return;
    const double rest = (double)sum.a / n, m2 = (double)sum.b - (double)sum.a * rest;
    numbers_of(t.parts, c, t.size.channels, p.shard, p.group)[p.channel] =
        two_sums{(double)centre + rest, m2 < 0 ? 0 : m2}; // a NaN stays one
}

static __device__ __forceinline__ void write_moments(const cut &c, const norm_task &t,
                                                     const plane_place &p, bool leads) {
    const int width = t.size.height <= (int)blockDim.y ? t.size.width : INT_MAX;
    if (width <= 4)
        write_moments_of<4>(c, t, p, leads);
    else if (width <= 16)
        write_moments_of<16>(c, t, p, leads);
    else if (width <= 32)
        write_moments_of<32>(c, t, p, leads);
    else
        write_moments_of<0>(c, t, p, leads);
}

// Groups of a block: with few rows it has several, which saves waiting for the other blocks.
static inline unsigned groups_together(const cut *c, dim3 block) {
    unsigned together = 1;
    if (block.y > 4) return together;
    while (together < groups_of(c->lanes) && together * block.y * GROUP < PLANE_THREADS_MOST)
        together *= 2;
    return together;
}

// The block for planes of so many rows. If few blocks leave processors idle, each is larger.
static inline dim3 norm_block(const cut *c, int channels, int height, unsigned *together) {
    const unsigned blocks =
        (unsigned)channels * groups_of(c->lanes) * (unsigned)(c->end - c->first);
    const bool large = height > PLANE_THREADS / GROUP && blocks < PROCESSORS;
    dim3 block = plane_block(height, large ? PLANE_THREADS_MOST : PLANE_THREADS);
    *together = groups_together(c, block);
    if (block.z < *together) block.z = *together;
    return block;
}

// Returns whether the thread has the sums of a channel and group.
static __device__ __forceinline__ bool leads_group(const plane_place &p, int channels) {
    return threadIdx.x == 0 && threadIdx.y == 0 && p.channel < channels && p.samples > 0;
}

// And of a channel, after all groups.
static __device__ __forceinline__ bool leads_channel(const plane_place &p, int channels) {
    return threadIdx.x == 0 && threadIdx.y == 0 && p.channel < channels && p.group == p.first_group;
}

static __global__ void __launch_bounds__(PLANE_THREADS_MOST)
    moments_in_order(cut c, unsigned together, norm_task t) {
    wait_for_kernels_before();
    const plane_place p = place_in_plane(c, t.size.channels, together);
    const int samples = c.count[p.shard];
    const unsigned groups = groups_of(samples);
    if (p.first_group < groups) write_moments(c, t, p, leads_group(p, t.size.channels));
    if (!is_last_group(c, p, together, t.counters)) return;
    const moments all = tree_sum_by_team<moments>(groups, [&](unsigned g) {
        if (p.channel >= t.size.channels) return moments{1, 0, 0};
        const two_sums of = numbers_written(t.parts, c, t.size.channels, p, g);
        return moments{samples_of_group(samples, g) * positions(t.size), of.a, of.b};
    });
    if (leads_channel(p, t.size.channels)) set_moments(t, p.shard, p.channel, all);
}

// ---- Sums of the gradients of a group ----

// dt and z of an element of y: cpu/kernels/epilogue.c
struct reached_element {
    float dt, z;
};

// What element_of_y reads of an element of y.
struct element_source {
    float dy;
    uint8_t argmax;
    const float *z; // of the window's first element
};

static __device__ __forceinline__ const float *place_of_z(const cuda_epilogue_task &t,
                                                          const element_source &e, int lanes) {
    const bool first = !t.pool || e.argmax == CUT_OFF;
    return e.z + (first ? 0 : window_step(t.size, e.argmax, lanes));
}

static __device__ __forceinline__ reached_element element_of_y(const cuda_epilogue_task &t,
                                                               affine a, const element_source &e,
                                                               float z) {
    const bool passed = t.pool ? e.argmax != CUT_OFF : passes(t, normalise(t, a, z));
    return {passed ? e.dy : 0.0f, z};
}

// The sums of dt and of dt · (z - mean) in row y, one element after another. The loads of AHEAD are
// under way together.
template <int AHEAD>
static __device__ __forceinline__ two_floats gradient_row(const cut &c, const cuda_epilogue_task &t,
                                                          const plane_place &p, int y) {
    const int step = t.pool ? 2 : 1, width = t.size.width / step, height = t.size.height / step;
    const size_t lanes = (size_t)c.lanes;
    const size_t plane = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    const size_t to = (plane * (size_t)height + (size_t)y) * (size_t)width * lanes;
    const size_t from =
        (plane * (size_t)t.size.height + (size_t)(step * y)) * (size_t)t.size.width * lanes;
    const affine a = affine_of(t, p.shard, (unsigned)p.channel);
    two_floats sum = {0, 0};
    for (int first = 0; first < width; first += AHEAD) {
        element_source of[AHEAD];
        float z[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const size_t x = (size_t)clamped(first + k, width);
            const size_t own = to + x * lanes + (size_t)p.sample;
            of[k] = {t.dy[own], t.pool ? t.argmax[own] : (uint8_t)0,
                     t.z + from + (size_t)step * x * lanes + p.sample};
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) z[k] = *place_of_z(t, of[k], c.lanes);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const bool exists = first + k < width;
            const reached_element e = element_of_y(t, a, of[k], z[k]);
            sum.a += exists ? e.dt : 0.0f;
            sum.b = exists ? fmaf(e.dt, e.z - a.mean, sum.b) : sum.b;
        }
    }
    return sum;
}

static __device__ __forceinline__ void write_gradient(const cut &c, const cuda_epilogue_task &t,
                                                      const plane_place &p, bool leads) {
    const int step = t.pool ? 2 : 1;
    const two_floats total = sum_of_rows(t.size.height / step, p.live, [&](int y) {
        return t.size.width / step <= 4 ? gradient_row<4>(c, t, p, y) : gradient_row<8>(c, t, p, y);
    });
    const int width = cpu_lanes(c.lanes);
    const float dt = sum_by_halves(total.a, width), centred = sum_by_halves(total.b, width);
    if (!leads) return;
    const size_t at = (size_t)p.shard * t.norm_stride + (size_t)p.channel;
    const float of_xhat = (centred - t.mean_rest[at] * dt) * t.inv_std[at];
    numbers_of(t.parts, c, t.size.channels, p.shard, p.group)[p.channel] =
        two_sums{(double)dt, (double)of_xhat};
}

// The sums of a channel. The gradients of weight and bias are sums of floats, like all gradients;
// the factors come from the same sums in double.
struct channel_sums {
    two_sums factors;
    float dt, of_xhat;
};

static __device__ __forceinline__ channel_sums add(const channel_sums &x, const channel_sums &y) {
    return channel_sums{add(x.factors, y.factors), x.dt + y.dt, x.of_xhat + y.of_xhat};
}

static __global__ void __launch_bounds__(PLANE_THREADS_MOST)
    gradient_in_order(cut c, unsigned together, cuda_epilogue_task t) {
    wait_for_kernels_before();
    const plane_place p = place_in_plane(c, t.size.channels, together);
    const int samples = c.count[p.shard];
    const unsigned groups = groups_of(samples);
    if (p.first_group < groups) write_gradient(c, t, p, leads_group(p, t.size.channels));
    if (!is_last_group(c, p, together, t.counters)) return;
    const channel_sums sum = tree_sum_by_team<channel_sums>(groups, [&](unsigned g) {
        if (p.channel >= t.size.channels) return channel_sums{};
        const two_sums of = numbers_written(t.parts, c, t.size.channels, p, g);
        return channel_sums{of, (float)of.a, (float)of.b};
    });
    if (!leads_channel(p, t.size.channels)) return;
    if (samples > 0) {
        float *gradients = t.gradients.base + (size_t)p.shard * t.gradients.stride + p.channel;
        gradients[t.bias_at] = sum.dt;
        gradients[t.weight_at] = sum.of_xhat;
    }
    set_factors(t, p.shard, p.channel, sum.factors, samples);
}

// ---- Launching ----

parts_room cuda_exact_moments_room(shape size, int lanes, int shards) {
    return numbers_room(size.channels, lanes, shards);
}

void cuda_exact_moments(launch_stream s, const cut *c, const norm_task *t) {
    unsigned together;
    const dim3 block = norm_block(c, t->size.channels, t->size.height, &together);
    if (c->first >= c->end) return;
    LAUNCH(moments_in_order, plane_grid(c, t->size.channels, block, together), block, s, *c,
           together, *t);
}

parts_room cuda_exact_epilogue_sums_room(const cuda_epilogue_task *t, int lanes, int shards) {
    return numbers_room(t->size.channels, lanes, shards);
}

void cuda_exact_epilogue_sums(launch_stream s, const cut *c, const cuda_epilogue_task *t) {
    unsigned together;
    const dim3 block =
        norm_block(c, t->size.channels, t->pool ? t->size.height / 2 : t->size.height, &together);
    if (c->first >= c->end) return;
    LAUNCH(gradient_in_order, plane_grid(c, t->size.channels, block, together), block, s, *c,
           together, *t);
}
