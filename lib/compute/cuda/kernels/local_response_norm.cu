// SPDX-License-Identifier: MIT
// Local response normalisation, with the formulas and the order of
// cpu/kernels/local_response_norm.c. One thread a value: those of neighbouring samples read
// neighbouring floats, and the windows of neighbouring channels come from the cache.
#include "compute/cuda/kernels/device.cuh"

enum { BLOCK = 128 };

typedef struct response_task {
    shape size;
    int window, quarters; // beta in quarters
    float k, alpha;       // alpha: divided by the window
    float slope;          // -2 · alpha · beta / the window
    const float *x;
    float *y;
    const float *dy;
    float *dx;
} response_task;

struct value_place {
    size_t plane; // floats between a value and that of the next channel
    size_t at;    // of channel 0
    int channel;
    bool exists;
};

static __device__ __forceinline__ value_place place_of(const cut &c, const response_task &t) {
    value_place p;
    p.plane = (size_t)t.size.height * (size_t)t.size.width * (size_t)c.lanes;
    const size_t own = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    p.channel = (int)(own / p.plane);
    p.at = (size_t)shard_of_block(c) * (size_t)t.size.channels * p.plane + own % p.plane;
    p.exists = p.channel < t.size.channels;
    return p;
}

// ---- One channel ----

static __device__ __forceinline__ int at_least_zero(int channel) {
    return channel > 0 ? channel : 0;
}

static __device__ __forceinline__ int at_most(int channel, int end) {
    return channel < end ? channel : end;
}

static __device__ __forceinline__ float sum_at(const response_task &t, const value_place &p,
                                               int channel) {
    const int first = at_least_zero(channel - t.window / 2);
    const int end = at_most(channel + (t.window + 1) / 2, t.size.channels);
    float sum = 0;
    for (int j = first; j < end; j++) {
        const float x = t.x[p.at + (size_t)j * p.plane];
        sum = fmaf(x, x, sum);
    }
    return fmaf(sum, t.alpha, t.k);
}

static __device__ __forceinline__ float power(const response_task &t, float s) {
    if (t.quarters == 4) return s;
    const float root = sqrtf(s);
    if (t.quarters == 2) return root;
    return t.quarters == 3 ? root * sqrtf(root) : sqrtf(root);
}

static __global__ void __launch_bounds__(BLOCK) local_response_norm(cut c, response_task t) {
    const value_place p = place_of(c, t);
    compute_early(p.at);
    wait_for_kernels_before();
    if (!p.exists) return;
    const size_t own = p.at + (size_t)p.channel * p.plane;
    t.y[own] = t.x[own] / power(t, sum_at(t, p, p.channel));
}

static __global__ void __launch_bounds__(BLOCK)
    local_response_norm_backward(cut c, response_task t) {
    const value_place p = place_of(c, t);
    compute_early(p.at);
    wait_for_kernels_before();
    if (!p.exists) return;
    const int first = at_least_zero(p.channel - (t.window - 1) / 2);
    const int end = at_most(p.channel + t.window / 2 + 1, t.size.channels);
    const size_t own = p.at + (size_t)p.channel * p.plane;
    float sum = 0, factor = 0;
    for (int j = first; j < end; j++) {
        const size_t other = p.at + (size_t)j * p.plane;
        const float s = sum_at(t, p, j), of = 1.0f / power(t, s);
        sum += t.dy[other] * t.x[other] * (of / s);
        if (j == p.channel) factor = of;
    }
    t.dx[own] = fmaf(t.x[own] * t.slope, sum, t.dy[own] * factor);
}

// ---- Launching ----

static response_task task_of(const cuda_layer_task *t) {
    const layer *l = t->l;
    return response_task{l->in,
                         l->window,
                         local_response_quarters(l),
                         (float)l->k,
                         (float)(l->alpha / l->window),
                         (float)(-2 * l->alpha * l->beta / l->window),
                         t->x,
                         t->y,
                         t->dy,
                         t->dx};
}

static dim3 grid_of(const cut *c, const layer *l) {
    return dim3(blocks_for(shape_size(l->in) * (size_t)c->lanes, BLOCK), 1,
                (unsigned)(c->end - c->first));
}

void cuda_local_response_norm(launch_stream s, const cut *c, const cuda_layer_task *t) {
    if (c->first < c->end) LAUNCH(local_response_norm, grid_of(c, t->l), BLOCK, s, *c, task_of(t));
}

void cuda_local_response_norm_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    if (c->first < c->end)
        LAUNCH(local_response_norm_backward, grid_of(c, t->l), BLOCK, s, *c, task_of(t));
}
