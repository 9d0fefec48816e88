// SPDX-License-Identifier: MIT
// pool.cu - unfused pooling: any window, stride and padding. (2×2 max pooling after another layer
// is in epilogue.cu.)
//
// Sums are added in the order of cpu/kernels/pool.c.
#include "compute/cuda/kernels/positions.cuh"
#include "compute/layer_sums.h"
#include "compute/pool_windows.h"

typedef struct pool_task {
    shape in, out;
    pool_axis rows, columns;
    const float *x;
    float *y;
    uint8_t *argmax; // max: index in the part of the window inside the image, row-major
    const float *dy;
    float *dx;
} pool_task;

typedef struct window {
    int top, left, bottom, right; // the part inside the image, never empty
} window;

static __device__ window window_at(const pool_task &t, int y, int x) {
    window w;
    w.top = pool_first(t.rows, y);
    w.left = pool_first(t.columns, x);
    w.bottom = pool_end(t.rows, y);
    w.right = pool_end(t.columns, x);
    return w;
}

// ---- Forward ----

// The first of equals wins, or the last NaN.
static __global__ void __launch_bounds__(BLOCK) max_pool(cut c, pool_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.out);
    const window w = window_at(t, p.y, p.x);
    compute_early(p.plane);
    wait_for_kernels_before();
    if (at >= elements) return;
    float best = 0;
    int argmax = 0, which = 0;
    for (int y = w.top; y < w.bottom; y++) {
        const float *x = t.x + element(p, c, t.in, y, w.left);
        for (int i = w.left; i < w.right; i++, which++, x += c.lanes)
            if (*x > best || *x != *x || which == 0) {
                best = *x;
                argmax = which;
            }
    }
    const size_t out = element(p, c, t.out, p.y, p.x);
    t.y[out] = best;
    t.argmax[out] = (uint8_t)argmax;
}

static __device__ float divisor_at(const pool_task &t, int y, int x) {
    return (float)(pool_counted(t.rows, y) * pool_counted(t.columns, x));
}

static __global__ void __launch_bounds__(BLOCK)
    average_pool(cut c, pool_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.out);
    const window w = window_at(t, p.y, p.x);
    compute_early(p.plane);
    wait_for_kernels_before();
    if (at >= elements) return;
    const bool parts = is_long_sum(pool_extent(t.rows, p.y), pool_extent(t.columns, p.x));
    float sum = 0, total = 0;
    for (int y = w.top; y < w.bottom; y++) {
        const float *x = t.x + element(p, c, t.in, y, w.left);
        for (int i = w.left; i < w.right; i++, x += c.lanes) sum += *x;
        if (!parts) continue;
        total += sum;
        sum = 0;
    }
    t.y[element(p, c, t.out, p.y, p.x)] = (total + sum) / divisor_at(t, p.y, p.x);
}

// ---- Backward ----

// Returns the contribution of window (y, x) to an input inside it.
template <bool MAX>
static __device__ float share(const cut &c, const pool_task &t, const position &input, int y,
                              int x) {
    const size_t out = element(input, c, t.out, y, x);
    if (!MAX) return t.dy[out] / divisor_at(t, y, x);
    const window w = window_at(t, y, x);
    const int which = (input.y - w.top) * (w.right - w.left) + input.x - w.left;
    return t.argmax[out] == which ? t.dy[out] : 0.0f;
}

template <bool MAX>
static __global__ void __launch_bounds__(BLOCK)
    pool_backward(cut c, pool_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.in);
    const int y_first = pool_first_over(t.rows, p.y), y_end = pool_end_over(t.rows, p.y);
    const int x_first = pool_first_over(t.columns, p.x), x_end = pool_end_over(t.columns, p.x);
    wait_for_kernels_before();
    if (at >= elements) return;
    float sum = 0;
    for (int y = y_first; y < y_end; y++)
        for (int x = x_first; x < x_end; x++) sum += share<MAX>(c, t, p, y, x);
    t.dx[element(p, c, t.in, p.y, p.x)] = sum;
}

// ---- Launches ----

static pool_task task_of(const cuda_layer_task *t) {
    const layer *l = t->l;
    return pool_task{l->in,      l->out, pool_rows(l), pool_columns(l), t->x, t->y,
                     t->choices, t->dy,  t->dx};
}

void cuda_max_pool(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->out);
    if (c->first < c->end)
        LAUNCH(max_pool, grid_of(c, elements), BLOCK, s, *c, task_of(t), elements);
}

void cuda_avg_pool(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->out);
    if (c->first < c->end)
        LAUNCH(average_pool, grid_of(c, elements), BLOCK, s, *c, task_of(t), elements);
}

void cuda_adaptive_avg_pool(launch_stream s, const cut *c, const cuda_layer_task *t) {
    cuda_avg_pool(s, c, t);
}

// One thread per position of dx, which gathers from the windows that contain it: nothing is added
// atomically.
void cuda_max_pool_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->in);
    if (c->first < c->end)
        LAUNCH(pool_backward<true>, grid_of(c, elements), BLOCK, s, *c, task_of(t), elements);
}

void cuda_avg_pool_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->in);
    if (c->first < c->end)
        LAUNCH(pool_backward<false>, grid_of(c, elements), BLOCK, s, *c, task_of(t), elements);
}

void cuda_adaptive_avg_pool_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    cuda_avg_pool_backward(s, c, t);
}
