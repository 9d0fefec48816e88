// SPDX-License-Identifier: MIT
// Activations as separate layers, and sums of two activations. A thread works on four neighbouring
// samples. All threads of a launch compute the same function, so testing for it costs little
// compared with the memory reads.
#include "compute/cuda/kernels/activation.cuh"

#include "compute/cuda/kernels/lanes.cuh"

enum { ELEMENT_THREADS = 256 };

typedef struct activation_task {
    activation_kind kind; // not ReLU
    activation_numbers numbers;
    size_t features;
    const float *x;
    float *y;
    const float *dy;
    float *dx;
} activation_task;

// The floats of a shard, and this thread's first one of the engine's.
struct element_place {
    size_t at;
    bool live;
};

static __device__ __forceinline__ element_place place_of(const cut &c, size_t features) {
    const size_t n = features * (size_t)c.lanes;
    const size_t i = ((size_t)blockIdx.x * ELEMENT_THREADS + threadIdx.x) * LANE_ROUND;
    const element_place p = {(size_t)shard_of_block(c) * n + i, i < n};
    compute_early(p.at);
    return p;
}

static __global__ void activation_forward(cut c, activation_task t) {
    const element_place p = place_of(c, t.features);
    wait_for_kernels_before();
    if (!p.live) return;
    four f = load_four(t.x + p.at);
    for (int k = 0; k < LANE_ROUND; k++) f.v[k] = activate(f.v[k], t.numbers, t.kind).value;
    store_four(t.y + p.at, f);
}

static __global__ void activation_gradient(cut c, activation_task t) {
    const element_place p = place_of(c, t.features);
    wait_for_kernels_before();
    if (!p.live) return;
    const four x = load_four(t.x + p.at);
    four f = load_four(t.dy + p.at);
    for (int k = 0; k < LANE_ROUND; k++) f.v[k] *= activate(x.v[k], t.numbers, t.kind).derivative;
    store_four(t.dx + p.at, f);
}

static __global__ void sum_forward(cut c, size_t features, const float *a, const float *b,
                                   float *to) {
    const element_place p = place_of(c, features);
    wait_for_kernels_before();
    if (!p.live) return;
    four f = load_four(a + p.at);
    if (b) {
        const four second = load_four(b + p.at);
        for (int k = 0; k < LANE_ROUND; k++) f.v[k] += second.v[k];
    }
    store_four(to + p.at, f);
}

// ---- Launching ----

static dim3 grid_of(const cut *c, size_t features) {
    return dim3(blocks_for(features * (size_t)c->lanes / LANE_ROUND, ELEMENT_THREADS), 1,
                (unsigned)(c->end - c->first));
}

static activation_task task_of(const cuda_layer_task *t, activation_kind kind) {
    return activation_task{
        kind, layer_activation_numbers(t->l), shape_size(t->l->in), t->x, t->y, t->dy, t->dx};
}

static void forward(launch_stream s, const cut *c, const activation_task &t) {
    const dim3 grid = grid_of(c, t.features);
    if (grid.z > 0) LAUNCH(activation_forward, grid, ELEMENT_THREADS, s, *c, t);
}

static void backward(launch_stream s, const cut *c, const activation_task &t) {
    const dim3 grid = grid_of(c, t.features);
    if (grid.z > 0) LAUNCH(activation_gradient, grid, ELEMENT_THREADS, s, *c, t);
}

#define LAUNCHES_OF(to, KIND, word, ...)                                                   \
    void cuda_##word(launch_stream s, const cut *c, const cuda_layer_task *t) {            \
        forward(s, c, task_of(t, ACTIVATION_##KIND));                                      \
    }                                                                                      \
    void cuda_##word##_backward(launch_stream s, const cut *c, const cuda_layer_task *t) { \
        backward(s, c, task_of(t, ACTIVATION_##KIND));                                     \
    }
SMOOTH_LAYERS(LAUNCHES_OF, )
LAUNCHES_OF(, SCALE, scale)

void cuda_sum(launch_stream s, const cut *c, size_t features, const float *a, const float *b,
              float *to) {
    const dim3 grid = grid_of(c, features);
    if (grid.z > 0) LAUNCH(sum_forward, grid, ELEMENT_THREADS, s, *c, features, a, b, to);
}
