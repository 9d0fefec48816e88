// SPDX-License-Identifier: MIT
// Error checks of CUDA calls; the lifetime of a device's streams, and waiting for them.
#include "compute/cuda/device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/kernels/limits.h"

status cuda_check(const cuda_device *d, cudaError_t code, const char *what, error *err) {
    if (code == cudaSuccess) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot compute: 'cuda:%d' (%s): %s: %s", d->index,
                     d->name, what, cudaGetErrorString(code));
}

status cuda_check_blas(const cuda_device *d, cublasStatus_t code, const char *what, error *err) {
    if (code == CUBLAS_STATUS_SUCCESS) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot compute: 'cuda:%d' (%s): %s: %s", d->index,
                     d->name, what, cublasGetStatusString(code));
}

status cuda_make_event(const cuda_device *d, cudaEvent_t *event, error *err) {
    return cuda_check(d, cudaEventCreateWithFlags(event, cudaEventDisableTiming),
                      "creating an event", err);
}

static status make_stream(const cuda_device *d, cudaStream_t *stream, error *err) {
    return cuda_check(d, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking),
                      "creating a stream", err);
}

static status allow_early_launches(cuda_device *d, error *err) {
    bool waits;
    NEED(cuda_check(d, cuda_kernels_wait(&waits), "querying kernels", err));
    if (!waits) return STATUS_OK;
    d->after_kernel = memory_new(2, sizeof *d->after_kernel);
    return STATUS_OK;
}

void cuda_launch_serially(cuda_device *d) {
    free(d->after_kernel);
    d->after_kernel = NULL;
}

status cuda_device_open(cuda_device *d, int index, bool serial, error *err) {
    struct cudaDeviceProp properties;
    d->index = index;
    snprintf(d->name, sizeof d->name, "a GPU");
    NEED(cuda_check(d, cudaSetDevice(index), "opening the device", err));
    NEED(cuda_check(d, cudaGetDeviceProperties(&properties, index), "reading its properties", err));
    snprintf(d->name, sizeof d->name, "%.60s, sm_%d%d", properties.name, properties.major,
             properties.minor);
    if (!serial) NEED(allow_early_launches(d, err));
    NEED(make_stream(d, &d->stream, err));
    NEED(make_stream(d, &d->copies, err));
    NEED(make_stream(d, &d->side, err));
    return cuda_make_event(d, &d->reached, err);
}

void cuda_device_finish(const cuda_device *d) {
    if (d->copies) (void)cudaStreamSynchronize(d->copies);
    if (d->stream) (void)cudaStreamSynchronize(d->stream);
    if (d->side) (void)cudaStreamSynchronize(d->side); // if a step failed before it joined
}

static void release(cuda_device *d) {
    if (d->blas) (void)cublasDestroy(d->blas);
    if (d->reached) (void)cudaEventDestroy(d->reached);
    if (d->copies) (void)cudaStreamDestroy(d->copies);
    if (d->side) (void)cudaStreamDestroy(d->side);
    if (d->stream) (void)cudaStreamDestroy(d->stream);
    for (size_t i = 0; i < d->owned_count; i++) (void)cudaFree(d->owned[i]);
    for (size_t i = 0; i < d->owned_host_count; i++) (void)cudaFreeHost(d->owned_host[i]);
}

void cuda_device_close(cuda_device *d) {
    if (!d->stuck) release(d);
    free(d->after_kernel);
    free(d->owned);
    free(d->owned_host);
}

status cuda_select(const cuda_device *d, error *err) {
    return cuda_check(d, cudaSetDevice(d->index), "selecting the device", err);
}

status cuda_begin(cuda_device *d, error *err) {
    const status selected = cuda_select(d, err), failed = d->failed;
    if (selected != STATUS_OK) return selected;
    if (failed != STATUS_OK) *err = d->failure;
    d->failed = STATUS_OK;
    return failed;
}

status cuda_device_sync(const cuda_device *d, error *err) {
    return cuda_check(d, cudaStreamSynchronize(d->stream), "waiting for the device", err);
}

status cuda_enqueue_copy(const cuda_device *d, void *to, const void *from, size_t bytes,
                         enum cudaMemcpyKind kind, const char *what, error *err) {
    launch_after_other(cuda_main(d));
    return cuda_check(d, cudaMemcpyAsync(to, from, bytes, kind, d->stream), what, err);
}

status cuda_wait_for(const cuda_device *d, launch_stream s, cudaStream_t other, error *err) {
    launch_after_other(s);
    NEED(cuda_check(d, cudaEventRecord(d->reached, other), "recording an event", err));
    return cuda_check(d, cudaStreamWaitEvent(s.stream, d->reached, 0), "waiting for an event", err);
}

uint64_t cuda_time_between(cudaEvent_t begin, cudaEvent_t end) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) {
        (void)cudaGetLastError(); // otherwise the next launch would seem to have failed
        return 0;
    }
    return (uint64_t)(fmax((double)ms, 0) * 1e6);
}

// ---- Device memory and pinned host memory ----

status cuda_take(cuda_device *d, size_t bytes, void *memory, error *err) {
    void **to = memory;
    if (bytes == 0) bytes = 1;
    d->owned = memory_grow(d->owned, &d->owned_room, d->owned_count + 1, sizeof *d->owned);
    NEED(cuda_check(d, cudaMalloc(to, bytes), "allocating device memory", err));
    d->owned[d->owned_count++] = *to;
    d->allocated += bytes;
    launch_after_other(cuda_main(d));
    return cuda_check(d, cudaMemsetAsync(*to, 0, bytes, d->stream), "clearing memory", err);
}

status cuda_take_host(cuda_device *d, size_t bytes, void *memory, error *err) {
    void **to = memory;
    if (bytes == 0) bytes = 1;
    d->owned_host = memory_grow(d->owned_host, &d->owned_host_room, d->owned_host_count + 1,
                                sizeof *d->owned_host);
    NEED(cuda_check(d, cudaMallocHost(to, bytes), "allocating pinned memory", err));
    d->owned_host[d->owned_host_count++] = *to;
    memset(*to, 0, bytes);
    return STATUS_OK;
}
