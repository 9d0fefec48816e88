// SPDX-License-Identifier: MIT
// resize.cu - zero padding, and upsampling: values at other positions.
//
// Sums are added in the order of cpu/kernels/resize.c.
#include "compute/cuda/kernels/positions.cuh"
#include "compute/layer_sums.h"

typedef struct resize_task {
    shape in, out;
    int channels, rows,
        columns;       // padding: how far values move; upsampling: copies of each row and column
    const float *from; // x, or dy
    float *to;         // y, or dx
} resize_task;

// ---- Zero padding ----

static __global__ void __launch_bounds__(BLOCK) pad(cut c, resize_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.out);
    const size_t shard = (size_t)shard_of_block(c);
    const int channel = (int)(p.plane - shard * (size_t)t.out.channels) - t.channels;
    const int y = p.y - t.rows, x = p.x - t.columns;
    position from = p;
    from.plane = shard * (size_t)t.in.channels + (size_t)channel;
    wait_for_kernels_before();
    if (at >= elements) return;
    const bool inside = channel >= 0 && channel < t.in.channels && y >= 0 && y < t.in.height &&
                        x >= 0 && x < t.in.width;
    t.to[element(p, c, t.out, p.y, p.x)] = inside ? t.from[element(from, c, t.in, y, x)] : 0.0f;
}

// ---- Upsampling ----

static __global__ void __launch_bounds__(BLOCK) repeat(cut c, resize_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.out);
    const int y = p.y / t.rows, x = p.x / t.columns;
    compute_early(p.plane);
    wait_for_kernels_before();
    if (at >= elements) return;
    t.to[element(p, c, t.out, p.y, p.x)] = t.from[element(p, c, t.in, y, x)];
}

static __global__ void __launch_bounds__(BLOCK)
    repeat_backward(cut c, resize_task t, unsigned elements) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    const position p = position_of(at, c, t.in);
    const bool parts = is_long_sum(t.rows, t.columns);
    compute_early(p.plane);
    wait_for_kernels_before();
    if (at >= elements) return;
    float sum = 0, total = 0;
    for (int i = 0; i < t.rows; i++) {
        const float *dy = t.from + element(p, c, t.out, p.y * t.rows + i, p.x * t.columns);
        for (int k = 0; k < t.columns; k++, dy += c.lanes) sum += *dy;
        if (!parts) continue;
        total += sum;
        sum = 0;
    }
    t.to[element(p, c, t.in, p.y, p.x)] = total + sum;
}

// ---- Launches ----

static resize_task repeat_of(const layer *l, const float *from, float *to) {
    return resize_task{l->in, l->out, 0, l->stride_h, l->stride_w, from, to};
}

void cuda_zero_pad(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const layer *l = t->l;
    const unsigned elements = elements_of_shard(c, l->out);
    const resize_task pads{l->in, l->out, l->pad_c, l->pad_h, l->pad_w, t->x, t->y};
    if (c->first < c->end) LAUNCH(pad, grid_of(c, elements), BLOCK, s, *c, pads, elements);
}

void cuda_zero_pad_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const layer *l = t->l;
    const unsigned elements = elements_of_shard(c, l->in);
    const resize_task back{l->out, l->in, -l->pad_c, -l->pad_h, -l->pad_w, t->dy, t->dx};
    if (c->first < c->end) LAUNCH(pad, grid_of(c, elements), BLOCK, s, *c, back, elements);
}

void cuda_upsample(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->out);
    if (c->first < c->end)
        LAUNCH(repeat, grid_of(c, elements), BLOCK, s, *c, repeat_of(t->l, t->x, t->y), elements);
}

void cuda_upsample_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    const unsigned elements = elements_of_shard(c, t->l->in);
    if (c->first < c->end)
        LAUNCH(repeat_backward, grid_of(c, elements), BLOCK, s, *c, repeat_of(t->l, t->dy, t->dx),
               elements);
}
