// SPDX-License-Identifier: MIT
// The product of two inputs, with the formulas and the order of cpu/kernels/multiply.c. A gate has
// one factor for all positions of a channel.
#include "compute/cuda/kernels/exact/exact.cuh"
#include "compute/cuda/kernels/lanes.cuh"

enum { THREADS = 256 };

typedef struct multiply_task {
    shape size; // of x
    bool gated;
    const float *x, *second;
    float *y;
    const float *dy;
    float *dx, *dsecond;
    bool second_adds;
} multiply_task;

// ---- Element by element: a thread works on four neighbouring samples ----

struct element_place {
    size_t at, second; // floats from the start of the engine's x and second input
    bool live;
};

static __device__ __forceinline__ element_place element_of(const cut &c, const multiply_task &t) {
    const unsigned n = shard_floats(t.size, c.lanes), plane = plane_floats(t.size, c.lanes);
    const unsigned i = (blockIdx.x * THREADS + threadIdx.x) * LANE_ROUND, lanes = (unsigned)c.lanes;
    const size_t shard = (size_t)shard_of_block(c), at = shard * n + i;
    const size_t channel = shard * (unsigned)t.size.channels + i / plane;
    const element_place p = {at, t.gated ? channel * lanes + i % lanes : at, i < n};
    compute_early(p.second);
    return p;
}

static __global__ void multiply_forward(cut c, multiply_task t) {
    const element_place p = element_of(c, t);
    wait_for_kernels_before();
    if (!p.live) return;
    four f = load_four(t.x + p.at);
    const four second = load_four(t.second + p.second);
    for (int k = 0; k < LANE_ROUND; k++) f.v[k] *= second.v[k];
    store_four(t.y + p.at, f);
}

// If both inputs are one value, dx and dsecond are too: dx is written first.
static __global__ void multiply_gradient(cut c, multiply_task t) {
    const element_place p = element_of(c, t);
    wait_for_kernels_before();
    if (!p.live) return;
    const four dy = load_four(t.dy + p.at);
    four to_x = load_four(t.second + p.second), to_second = load_four(t.x + p.at);
    for (int k = 0; k < LANE_ROUND; k++) to_x.v[k] *= dy.v[k];
    if (t.dx) store_four(t.dx + p.at, to_x);
    if (!t.dsecond) return;
    const four before = t.second_adds ? load_four(t.dsecond + p.at) : four{};
    for (int k = 0; k < LANE_ROUND; k++) {
        to_second.v[k] *= dy.v[k];
        if (t.second_adds) to_second.v[k] = before.v[k] + to_second.v[k];
    }
    store_four(t.dsecond + p.at, to_second);
}

// ---- The gradient of a gate, and that of what it is multiplied with ----

static __global__ void __launch_bounds__(PLANE_THREADS) gate_gradient(cut c, multiply_task t) {
    const int shard = shard_of_block(c);
    const int channel = (int)(blockIdx.x * blockDim.z + threadIdx.z);
    const int sample = (int)(blockIdx.y * GROUP + threadIdx.x);
    const bool exists = channel < t.size.channels && sample < c.lanes;
    const size_t lanes = (size_t)c.lanes, width = (size_t)t.size.width;
    const size_t plane = (size_t)shard * (size_t)t.size.channels + (size_t)channel;
    const size_t gate = plane * lanes + (size_t)sample;
    wait_for_kernels_before();
    const float factor = exists ? t.second[gate] : 0.0f;
    const two_floats total = sum_of_rows(t.size.height, exists, [&](int y) {
        const size_t row = (plane * (size_t)t.size.height + (size_t)y) * width * lanes;
        two_floats sum = {0, 0};
        for (size_t i = 0; i < width; i++) {
            const size_t at = row + i * lanes + (size_t)sample;
            const float dy = t.dy[at];
            sum.a = fmaf(dy, t.x[at], sum.a);
            if (t.dx) t.dx[at] = dy * factor;
        }
        return sum;
    });
    if (threadIdx.y > 0 || !exists || !t.dsecond) return;
    t.dsecond[gate] = t.second_adds ? t.dsecond[gate] + total.a : total.a;
}

// ---- Launching ----

static multiply_task task_of(const cuda_layer_task *t) {
    return multiply_task{t->l->in, t->l->gated, t->x,       t->second,     t->y,
                         t->dy,    t->dx,       t->dsecond, t->second_adds};
}

static dim3 grid_of(const cut *c, shape size) {
    return dim3(blocks_for(shard_floats(size, c->lanes) / LANE_ROUND, THREADS), 1,
                (unsigned)(c->end - c->first));
}

void cuda_multiply(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const dim3 grid = grid_of(c, t->l->in);
    if (grid.z > 0) LAUNCH(multiply_forward, grid, THREADS, s, *c, task_of(t));
}

void cuda_multiply_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const dim3 grid = grid_of(c, t->l->in), block = plane_block(t->l->in.height);
    if (grid.z == 0) return;
    if (t->l->gated)
        LAUNCH(gate_gradient, plane_grid(c, t->l->in.channels, block), block, s, *c, task_of(t));
    else
        LAUNCH(multiply_gradient, grid, THREADS, s, *c, task_of(t));
}
