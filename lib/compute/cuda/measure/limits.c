// SPDX-License-Identifier: MIT
// Measured limits of an engine's device: bounds for the operations of a step.
#include "compute/cuda/kernels/limits.h"
#include "compute/cuda/measure/measure.h"

enum {
    REPEATS = 9,
    CACHES = 4,             // a copy is this many times as large as the L2 cache
    HOST_BYTES = 16 << 20,  // of a copy from the host
    BLOCKS_OF_PROCESSOR = 8 // full occupancy: 2,048 threads
};
static const double PEAK_US = 5000;     // target for the multiply-adds: clocks take time to rise
static const int ROUNDS_MOST = 1 << 20; // of LIMITS_MULTIPLY_ADDS

// ---- Memory ----

typedef struct copy_task {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
} copy_task;

static status copy(engine *e, const void *task, error *err) {
    const copy_task *t = task;
    return cuda_enqueue_copy(&e->device, t->to, t->from, t->bytes, t->kind, "measuring memory",
                             err);
}

static status measure_memory(engine *e, size_t bytes, device_limits *out, error *err) {
    copy_task inside = {.bytes = bytes, .kind = cudaMemcpyDeviceToDevice};
    copy_task outside = {.bytes = HOST_BYTES, .kind = cudaMemcpyHostToDevice};
    void *from, *from_host;
    double us;
    int launches;
    NEED(cuda_take(&e->device, bytes, &from, err));
    NEED(cuda_take(&e->device, bytes > HOST_BYTES ? bytes : (size_t)HOST_BYTES, &inside.to, err));
    NEED(cuda_take_host(&e->device, HOST_BYTES, &from_host, err));
    inside.from = from;
    outside.from = from_host;
    outside.to = inside.to;
    NEED(cuda_time(e, copy, &inside, REPEATS, &us, &launches, err));
    out->bytes = 2 * (double)bytes / us * 1e6; // read and written
    NEED(cuda_time(e, copy, &outside, REPEATS, &us, &launches, err));
    out->host_bytes = (double)HOST_BYTES / us * 1e6;
    return STATUS_OK;
}

// ---- Arithmetic ----

typedef struct peak_task {
    int blocks, rounds;
    float *to;
} peak_task;

static status multiply_adds(engine *e, const void *task, error *err) {
    const peak_task *t = task;
    cuda_multiply_adds(cuda_main(&e->device), t->blocks, t->rounds, t->to);
    return cuda_check(&e->device, cudaGetLastError(), "measuring arithmetic", err);
}

static status measure_arithmetic(engine *e, int processors, device_limits *out, error *err) {
    peak_task t = {.blocks = processors * BLOCKS_OF_PROCESSOR, .rounds = 8};
    const double threads = (double)t.blocks * (double)LIMITS_THREADS;
    double us = 0;
    int launches;
    NEED(cuda_take(&e->device, (size_t)threads * sizeof(float), &t.to, err));
    for (; us < PEAK_US && t.rounds < ROUNDS_MOST; t.rounds *= 2)
        NEED(cuda_time(e, multiply_adds, &t, 1, &us, &launches, err));
    NEED(cuda_time(e, multiply_adds, &t, REPEATS, &us, &launches, err));
    out->flop = 2 * threads * (double)LIMITS_MULTIPLY_ADDS * t.rounds / us * 1e6;
    return STATUS_OK;
}

// ---- All of them ----

static status nothing(engine *e, const void *task, error *err) {
    (void)task;
    cuda_nothing(cuda_main(&e->device));
    return cuda_check(&e->device, cudaGetLastError(), "measuring a launch", err);
}

status cuda_limits(engine *e, device_limits *out, error *err) {
    struct cudaDeviceProp p;
    int launches;
    NEED(cuda_select(&e->device, err));
    NEED(cuda_check(&e->device, cudaGetDeviceProperties(&p, e->device.index),
                    "reading its properties", err));
    // Arithmetic first: it brings an idle device up to its clock rate.
    NEED(measure_arithmetic(e, p.multiProcessorCount, out, err));
    NEED(measure_memory(e, (size_t)CACHES * (size_t)p.l2CacheSize, out, err));
    return cuda_time(e, nothing, NULL, REPEATS, &out->launch_us, &launches, err);
}
