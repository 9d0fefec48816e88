// SPDX-License-Identifier: MIT
// Group normalisation, with the formulas and the order of cpu/kernels/group_norm.c.
//
// A block takes the channels of one group of channels and 16 samples: threadIdx.x is the sample, .y
// a row. It has the statistics of these samples to itself.
#include "compute/cuda/kernels/exact/channel_gradients.cuh"

typedef struct group_norm_task {
    shape size;
    int groups; // of channels
    float eps;
    const float *weight, *bias; // [channels]
    const float *x;
    float *y;
    const float *dy;
    float *dx; // NULL: not needed
    double *parts;
} group_norm_task;

struct part_place {
    int shard, first, end; // the channels [first, end)
    unsigned group;        // of samples
    int sample;            // of the shard
    bool exists, live;     // it has memory, and it has data
};

static __device__ __forceinline__ part_place place_of(const cut &c, const group_norm_task &t) {
    const int channels = t.size.channels / t.groups;
    part_place p;
    p.shard = shard_of_block(c);
    p.first = (int)blockIdx.x * channels;
    p.end = p.first + channels;
    p.group = blockIdx.y;
    p.sample = (int)(p.group * GROUP + threadIdx.x);
    p.exists = p.sample < c.lanes;
    return p;
}

// Returns the floats from the start of an activation to the first element of a row.
static __device__ __forceinline__ size_t row_at(const cut &c, const group_norm_task &t,
                                                const part_place &p, int channel, int y) {
    const size_t plane = (size_t)p.shard * (size_t)t.size.channels + (size_t)channel;
    const size_t row = plane * (size_t)t.size.height + (size_t)y;
    return row * (size_t)t.size.width * (size_t)c.lanes + (size_t)p.sample;
}

// Returns a value of the threads of row 0, in the threads of all rows.
static __device__ __forceinline__ float share(float value) {
    __shared__ float of[GROUP];
    if (threadIdx.y == 0) of[threadIdx.x] = value;
    __syncthreads();
    value = of[threadIdx.x];
    __syncthreads();
    return value;
}

// Sums over the channels of what `term(value, exists, sum)` adds up in a row; in the threads of row
// 0.
template <typename Term>
static __device__ __forceinline__ two_floats sum_of_part(const cut &c, const group_norm_task &t,
                                                         const part_place &p, const Term &term) {
    const size_t lanes = (size_t)c.lanes;
    two_floats total = {0, 0};
    for (int channel = p.first; channel < p.end; channel++)
        total = add(total, sum_of_rows(t.size.height, p.live, [&](int y) {
                        const float *x = t.x + row_at(c, t, p, channel, y);
                        return sum_of_row(
                            t.size.width, [&](int i) { return x[(size_t)i * lanes]; }, term);
                    }));
    return total;
}

struct part_statistics {
    float count, mean, inv_std;
};

static __device__ __forceinline__ part_statistics statistics_of(const cut &c,
                                                                const group_norm_task &t,
                                                                const part_place &p) {
    part_statistics s;
    s.count = (float)((p.end - p.first) * t.size.height * t.size.width);
    const two_floats sum = sum_of_part(
        c, t, p, [](float x, bool exists, two_floats &of) { of.a += exists ? x : 0.0f; });
    const float mean = s.mean = share(sum.a / s.count);
    const two_floats squares = sum_of_part(c, t, p, [mean](float x, bool exists, two_floats &of) {
        const float d = exists ? x - mean : 0.0f;
        of.a = fmaf(d, d, of.a);
    });
    s.inv_std = share(1.0f / sqrtf(squares.a / s.count + t.eps));
    return s;
}

static __global__ void __launch_bounds__(PLANE_THREADS) group_norm(cut c, group_norm_task t) {
    part_place p = place_of(c, t);
    compute_early(p.end);
    wait_for_kernels_before();
    p.live = p.sample < c.count[p.shard];
    const part_statistics s = statistics_of(c, t, p);
    if (!p.exists) return;
    for (int channel = p.first; channel < p.end; channel++) {
        const float scale = s.inv_std * t.weight[channel], shift = t.bias[channel];
        for (int y = (int)threadIdx.y; y < t.size.height; y += (int)blockDim.y) {
            const size_t row = row_at(c, t, p, channel, y);
            for (int x = 0; x < t.size.width; x++) {
                const size_t at = row + (size_t)x * (size_t)c.lanes;
                t.y[at] = fmaf(t.x[at] - s.mean, scale, shift);
            }
        }
    }
}

// ---- Backward ----

static __device__ __forceinline__ float normalised(const part_statistics &s, float x) {
    return (x - s.mean) * s.inv_std;
}

// The sums of dy and of dy · x̂ in row y, one element after another.
static __device__ __forceinline__ two_floats gradient_row(const cut &c, const group_norm_task &t,
                                                          const part_place &p,
                                                          const part_statistics &s, int channel,
                                                          int y) {
    const size_t row = row_at(c, t, p, channel, y);
    two_floats sum = {0, 0};
    for (int x = 0; x < t.size.width; x++) {
        const size_t at = row + (size_t)x * (size_t)c.lanes;
        const float dy = t.dy[at];
        sum.a += dy;
        sum.b = fmaf(dy, normalised(s, t.x[at]), sum.b);
    }
    return sum;
}

// The sums over the part of weight · dy and of weight · dy · x̂, in the threads of row 0. Those of
// the samples' gradients go to the numbers of their channel.
static __device__ __forceinline__ two_floats gradient_sums(const cut &c, const group_norm_task &t,
                                                           const part_place &p,
                                                           const part_statistics &s) {
    const int width = cpu_lanes(c.lanes);
    two_sums *numbers = numbers_of(t.parts, c, t.size.channels, p.shard, p.group);
    two_floats all = {0, 0};
    for (int channel = p.first; channel < p.end; channel++) {
        const two_floats of = sum_of_rows(
            t.size.height, p.live, [&](int y) { return gradient_row(c, t, p, s, channel, y); });
        all.a = fmaf(of.a, t.weight[channel], all.a);
        all.b = fmaf(of.b, t.weight[channel], all.b);
        const float dy = sum_by_halves(of.a, width), xhat = sum_by_halves(of.b, width);
        if (threadIdx.x == 0 && threadIdx.y == 0)
            numbers[channel] = two_sums{(double)dy, (double)xhat};
    }
    return all;
}

static __global__ void __launch_bounds__(PLANE_THREADS)
    group_norm_gradient(cut c, group_norm_task t) {
    part_place p = place_of(c, t);
    compute_early(p.end);
    wait_for_kernels_before();
    p.live = p.sample < c.count[p.shard];
    const part_statistics s = statistics_of(c, t, p);
    const two_floats sums = gradient_sums(c, t, p, s);
    const float mean = share(s.inv_std * (sums.a / s.count));
    const float slope = share(s.inv_std * (sums.b / s.count));
    if (!p.exists || !t.dx) return;
    for (int channel = p.first; channel < p.end; channel++) {
        const float scale = s.inv_std * t.weight[channel];
        for (int y = (int)threadIdx.y; y < t.size.height; y += (int)blockDim.y) {
            const size_t row = row_at(c, t, p, channel, y);
            for (int x = 0; x < t.size.width; x++) {
                const size_t at = row + (size_t)x * (size_t)c.lanes;
                const float xhat = normalised(s, t.x[at]);
                t.dx[at] = p.live ? fmaf(scale, t.dy[at], -fmaf(xhat, slope, mean)) : 0.0f;
            }
        }
    }
}

// ---- Launching ----

static group_norm_task task_of(const cuda_layer_task *t) {
    const layer *l = t->l;
    return group_norm_task{l->in, l->groups, (float)l->eps, t->weight, t->bias,
                           t->x,  t->y,      t->dy,         t->dx,     t->parts};
}

// Two rows at least: whole warps.
static dim3 part_block(const group_norm_task *t) {
    const dim3 block = plane_block(t->size.height);
    return dim3(block.x, block.y > 1 ? block.y : 2);
}

static dim3 part_grid(const cut *c, const group_norm_task *t) {
    return dim3((unsigned)t->groups, groups_of(c->lanes), (unsigned)(c->end - c->first));
}

// The numbers of weight and bias, and what backward keeps of each sample.
parts_room cuda_unfused_room(const layer *l, int lanes, int shards) {
    const size_t kept = layer_kept(l) * (size_t)lanes * (size_t)shards;
    parts_room room = {0, 0};
    if (layer_weights(l) > 0) room = numbers_room(l->in.channels, lanes, shards);
    room.parts += (kept * sizeof(float) + sizeof(double) - 1) / sizeof(double);
    return room;
}

void cuda_group_norm(launch_stream s, const cut *c, const cuda_layer_task *l) {
    const group_norm_task t = task_of(l);
    if (c->first < c->end) LAUNCH(group_norm, part_grid(c, &t), part_block(&t), s, *c, t);
}

void cuda_group_norm_backward(launch_stream s, const cut *c, const cuda_layer_task *l) {
    const group_norm_task t = task_of(l);
    if (c->first >= c->end) return;
    LAUNCH(group_norm_gradient, part_grid(c, &t), part_block(&t), s, *c, t);
    launch_channel_gradients(s, c, l);
}
