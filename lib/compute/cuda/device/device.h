// SPDX-License-Identifier: MIT
// device.h - a GPU as an engine uses it: its streams, the memory taken from it, the checks of
// CUDA's calls, and products by cuBLAS. The other headers of this folder: opened.h, libraries that
// are opened when they are needed; monitor.h, a GPU's activity during a run.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_DEVICE_H
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_DEVICE_H

#include <cublas_v2.h>

#include "base/error.h"
#include "compute/cuda/kernels/cuda_kernels.h"

typedef struct cuda_device {
    int index;                   // as in "cuda:1"
    char name[96];               // "NVIDIA H200, sm_90", with cuBLAS "…, cuBLAS 13.0.2"
    cudaStream_t stream, copies; // copies: of step inputs
    cudaStream_t side;           // weight gradients; `stream` waits for them in each step
    bool *after_kernel;          // [2]: of `stream` and `side`, as in launch_stream; or NULL
    cudaEvent_t reached;         // at which one of the two waits for the other
    cublasHandle_t blas;         // NULL: not opened
    // The stream waits for a dead rank and will never finish, or so does the thread that captures
    // it; or other ranks may still have its memory open.
    bool stuck;
    size_t allocated;           // bytes of device memory
    void **owned, **owned_host; // all allocations
    size_t owned_count, owned_room, owned_host_count, owned_host_room;
    status failed; // of a call that cannot return a status; the next one that can returns it
    error failure;
} cuda_device;

// The streams for kernels: the main one and the side one.
static inline launch_stream cuda_main(const cuda_device *d) {
    return (launch_stream){d->stream, d->after_kernel};
}
static inline launch_stream cuda_aside(const cuda_device *d) {
    return (launch_stream){d->side, d->after_kernel ? d->after_kernel + 1 : NULL};
}
// Called where a capture begins or ends: earlier work in a stream does not precede later work then.
static inline void cuda_launch_afresh(const cuda_device *d) {
    launch_after_other(cuda_main(d));
    launch_after_other(cuda_aside(d));
}

// device.c: returns STATUS_FAILED, with a message that names the device and the action.
status cuda_check(const cuda_device *d, cudaError_t code, const char *what, error *err) MUST_CHECK;
status cuda_check_blas(const cuda_device *d, cublasStatus_t code, const char *what,
                       error *err) MUST_CHECK;

// `serial`: engine_options.serial_launches. cuda_device_close() is called even after a failure.
status cuda_device_open(cuda_device *d, int index, bool serial, error *err) MUST_CHECK;
void cuda_device_finish(const cuda_device *d); // waits for all streams
// Frees the streams and all memory, unless the device is stuck. Its streams have finished.
void cuda_device_close(cuda_device *d);
// Makes the device that of the calling thread.
status cuda_select(const cuda_device *d, error *err) MUST_CHECK;
// The same; and returns the failure of an earlier call that could not return it.
status cuda_begin(cuda_device *d, error *err) MUST_CHECK;
// Waits for the main stream. An engine that reduces with other ranks has cuda_sync() instead
// (run/cuda_engine.h).
status cuda_device_sync(const cuda_device *d, error *err) MUST_CHECK;
// Enqueues a copy in the main stream.
status cuda_enqueue_copy(const cuda_device *d, void *to, const void *from, size_t bytes,
                         enum cudaMemcpyKind kind, const char *what, error *err) MUST_CHECK;
// Work enqueued in `s` from now on runs after the work already in `other`.
status cuda_wait_for(const cuda_device *d, launch_stream s, cudaStream_t other,
                     error *err) MUST_CHECK;
void cuda_launch_serially(cuda_device *d); // from now on
status cuda_make_event(const cuda_device *d, cudaEvent_t *event, error *err) MUST_CHECK; // untimed
uint64_t cuda_time_between(cudaEvent_t begin, cudaEvent_t end); // ns; 0: unknown

// Take zeroed memory, freed with the device. `memory` is the address of a pointer.
status cuda_take(cuda_device *d, size_t bytes, void *memory, error *err) MUST_CHECK;
status cuda_take_host(cuda_device *d, size_t bytes, void *memory, error *err) MUST_CHECK;

// linear.c: products by cuBLAS, one call per shard, so that a shard's bits do not depend on the
// number of shards. Small layers are not worth these calls: they run as convolutions
// (cuda_kernels.h).
bool cuda_linear_by_blas(const layer *l, int lanes);
// Only for models with a large linear layer: a handle takes memory.
status cuda_linear_open(cuda_device *d, error *err) MUST_CHECK;
// With the pointers, sizes and offsets of a linear layer's cuda_conv_task.
status cuda_linear(const cuda_device *d, const cut *c, const cuda_conv_task *t,
                   error *err) MUST_CHECK;
status cuda_linear_input(const cuda_device *d, const cut *c, const cuda_conv_task *t,
                         error *err) MUST_CHECK;
status cuda_linear_weight(const cuda_device *d, const cut *c, const cuda_conv_task *t,
                          error *err) MUST_CHECK;

#endif
