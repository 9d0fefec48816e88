// SPDX-License-Identifier: MIT
// Layer normalisation over the channels of each position, with the formulas and the order of
// cpu/kernels/layer_norm.c.
#include "compute/cuda/kernels/exact/channel_gradients.cuh"

enum { BLOCK = 128 };

typedef struct layer_norm_task {
    shape size;
    float eps;
    const float *weight, *bias; // [channels]
    const float *x;
    float *y;
    const float *dy;
    float *dx; // NULL: not needed
    double *parts;
    float2
        *kept; // backward: mean and 1 / deviation of each position: [shard][height][width][lanes]
} layer_norm_task;

// ---- Statistics: one thread a position of a sample ----

struct column {
    size_t first, step; // of its channels, in an activation
    unsigned at;        // in the plane of a shard
    int shard;
    bool exists, live; // it has memory, and it has data
};

static __device__ __forceinline__ column column_of(const cut &c, const layer_norm_task &t) {
    column k;
    k.step = (size_t)t.size.height * (size_t)t.size.width * (size_t)c.lanes;
    k.at = blockIdx.x * BLOCK + threadIdx.x;
    k.shard = shard_of_block(c);
    k.first = (size_t)k.shard * (size_t)t.size.channels * k.step + k.at;
    k.exists = k.at < k.step;
    return k;
}

static __device__ __forceinline__ bool is_live(const cut &c, const column &k) {
    return k.exists && (int)(k.at % (unsigned)c.lanes) < c.count[k.shard];
}

// Sums over the channels, in the parts of layer_sums.h. `term(channel, sum)` adds to a sum.
template <typename Term>
static __device__ __forceinline__ two_floats sum_of_channels(int channels, const Term &term) {
    two_floats total = {0, 0};
    for (int first = 0; first < channels; first += LONG_SUM_CHANNELS_PART) {
        const int left = channels - first;
        const int end = first + (left < LONG_SUM_CHANNELS_PART ? left : LONG_SUM_CHANNELS_PART);
        two_floats part = {0, 0};
#pragma unroll 8
        for (int channel = first; channel < end; channel++) term(channel, part);
        total = add(total, part);
    }
    return total;
}

struct column_statistics {
    float mean, inv_std;
};

static __device__ __forceinline__ column_statistics statistics_of(const layer_norm_task &t,
                                                                  const column &k) {
    const float *x = t.x + k.first, count = (float)t.size.channels;
    column_statistics s;
    s.mean =
        sum_of_channels(t.size.channels,
                        [&](int channel, two_floats &sum) { sum.a += x[(size_t)channel * k.step]; })
            .a /
        count;
    const float squares = sum_of_channels(t.size.channels, [&](int channel, two_floats &sum) {
                              const float d = x[(size_t)channel * k.step] - s.mean;
                              sum.a = fmaf(d, d, sum.a);
                          }).a;
    s.inv_std = 1.0f / sqrtf(squares / count + t.eps);
    return s;
}

static __global__ void __launch_bounds__(BLOCK) layer_norm(cut c, layer_norm_task t) {
    const column k = column_of(c, t);
    compute_early(k.first);
    wait_for_kernels_before();
    if (!k.exists) return;
    const column_statistics s = statistics_of(t, k);
    for (int channel = 0; channel < t.size.channels; channel++) {
        const size_t at = k.first + (size_t)channel * k.step;
        t.y[at] = fmaf(t.x[at] - s.mean, s.inv_std * t.weight[channel], t.bias[channel]);
    }
}

// ---- Backward ----

static __device__ __forceinline__ float normalised(float mean, float inv_std, float x) {
    return (x - mean) * inv_std;
}

static __global__ void __launch_bounds__(BLOCK) layer_norm_gradient(cut c, layer_norm_task t) {
    const column k = column_of(c, t);
    compute_early(k.first);
    wait_for_kernels_before();
    if (!is_live(c, k)) {
        for (int channel = 0; k.exists && t.dx && channel < t.size.channels; channel++)
            t.dx[k.first + (size_t)channel * k.step] = 0.0f;
        return;
    }
    const column_statistics s = statistics_of(t, k);
    t.kept[(size_t)k.shard * k.step + k.at] = make_float2(s.mean, s.inv_std);
    if (!t.dx) return;
    const float count = (float)t.size.channels;
    const two_floats sums = sum_of_channels(t.size.channels, [&](int channel, two_floats &sum) {
        const size_t at = k.first + (size_t)channel * k.step;
        const float d = t.dy[at] * t.weight[channel];
        sum.a += d;
        sum.b = fmaf(d, normalised(s.mean, s.inv_std, t.x[at]), sum.b);
    });
    const float offset = s.inv_std * (sums.a / count), slope = s.inv_std * (sums.b / count);
    for (int channel = 0; channel < t.size.channels; channel++) {
        const size_t at = k.first + (size_t)channel * k.step;
        const float xhat = normalised(s.mean, s.inv_std, t.x[at]);
        t.dx[at] = fmaf(s.inv_std * t.weight[channel], t.dy[at], -fmaf(xhat, slope, offset));
    }
}

// The sums of dy and of dy · x̂ in row y, one element after another.
static __device__ __forceinline__ two_floats gradient_row(const cut &c, const layer_norm_task &t,
                                                          const plane_place &p, int y) {
    const size_t row = (size_t)t.size.width * (size_t)c.lanes;
    const size_t rows = (size_t)p.shard * (size_t)t.size.height + (size_t)y;
    const size_t plane = (size_t)p.shard * (size_t)t.size.channels + (size_t)p.channel;
    const size_t from = (plane * (size_t)t.size.height + (size_t)y) * row + (size_t)p.sample;
    const float2 *kept = t.kept + rows * row + p.sample;
    two_floats sum = {0, 0};
    for (size_t x = 0; x < row; x += (size_t)c.lanes) {
        const float dy = t.dy[from + x];
        sum.a += dy;
        sum.b = fmaf(dy, normalised(kept[x].x, kept[x].y, t.x[from + x]), sum.b);
    }
    return sum;
}

// The numbers of a group: a block takes some channels.
static __global__ void __launch_bounds__(PLANE_THREADS)
    layer_norm_channels(cut c, layer_norm_task t) {
    wait_for_kernels_before();
    const plane_place p = place_in_plane(c, t.size.channels);
    const two_floats of =
        sum_of_rows(t.size.height, p.live, [&](int y) { return gradient_row(c, t, p, y); });
    const int width = cpu_lanes(c.lanes);
    const float dy = sum_by_halves(of.a, width), xhat = sum_by_halves(of.b, width);
    if (threadIdx.x == 0 && threadIdx.y == 0 && p.samples > 0 && p.channel < t.size.channels)
        numbers_of(t.parts, c, t.size.channels, p.shard, p.group)[p.channel] =
            two_sums{(double)dy, (double)xhat};
}

// ---- Launching ----

static layer_norm_task task_of(const cut *c, const cuda_layer_task *t) {
    const layer *l = t->l;
    double *kept = t->parts + numbers_room(l->in.channels, c->lanes, c->end).parts;
    return layer_norm_task{l->in, (float)l->eps, t->weight, t->bias,  t->x,
                           t->y,  t->dy,         t->dx,     t->parts, (float2 *)kept};
}

static dim3 column_grid(const cut *c, shape size) {
    const size_t plane = (size_t)size.height * (size_t)size.width * (size_t)c->lanes;
    return dim3(blocks_for(plane, BLOCK), 1, (unsigned)(c->end - c->first));
}

void cuda_layer_norm(launch_stream s, const cut *c, const cuda_layer_task *l) {
    const layer_norm_task t = task_of(c, l);
    if (c->first < c->end) LAUNCH(layer_norm, column_grid(c, t.size), BLOCK, s, *c, t);
}

void cuda_layer_norm_backward(launch_stream s, const cut *c, const cuda_layer_task *l) {
    const layer_norm_task t = task_of(c, l);
    const dim3 block = plane_block(t.size.height);
    if (c->first >= c->end) return;
    LAUNCH(layer_norm_gradient, column_grid(c, t.size), BLOCK, s, *c, t);
    LAUNCH(layer_norm_channels, plane_grid(c, t.size.channels, block), block, s, *c, t);
    launch_channel_gradients(s, c, l);
}
