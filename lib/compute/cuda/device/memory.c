// SPDX-License-Identifier: MIT
// Device memory and pinned host memory.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/device/device.h"

status cuda_take(cuda_device *d, size_t bytes, void *memory, error *err) {
    void **to = memory;
    status rc;
    if (bytes == 0) bytes = 1;
    memory_grow((void **)&d->owned, &d->owned_room, d->owned_count + 1, sizeof *d->owned);
    TRY(cuda_check(d, cudaMalloc(to, bytes), "allocating device memory", err));
    d->owned[d->owned_count++] = *to;
    d->allocated += bytes;
    launch_after_other(cuda_main(d));
    TRY(cuda_check(d, cudaMemsetAsync(*to, 0, bytes, d->stream), "clearing memory", err));
out:
    return rc;
}

status cuda_take_host(cuda_device *d, size_t bytes, void *memory, error *err) {
    void **to = memory;
    status rc;
    if (bytes == 0) bytes = 1;
    memory_grow((void **)&d->owned_host, &d->owned_host_room, d->owned_host_count + 1,
                sizeof *d->owned_host);
    TRY(cuda_check(d, cudaMallocHost(to, bytes), "allocating pinned memory", err));
    d->owned_host[d->owned_host_count++] = *to;
    memset(*to, 0, bytes);
out:
    return rc;
}

void cuda_release_all(cuda_device *d) {
    for (size_t i = 0; i < d->owned_count; i++) (void)cudaFree(d->owned[i]);
    for (size_t i = 0; i < d->owned_host_count; i++) (void)cudaFreeHost(d->owned_host[i]);
}
