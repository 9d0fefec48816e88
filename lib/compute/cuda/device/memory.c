// SPDX-License-Identifier: MIT
// Device memory and pinned host memory.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/engine.h"

status cuda_take(engine *e, size_t bytes, void *memory, error *err) {
    void **to = memory;
    status rc;
    if (bytes == 0) bytes = 1;
    TRY(memory_grow((void **)&e->owned, &e->owned_room, e->owned_count + 1, sizeof *e->owned, err));
    TRY(cuda_check(e, cudaMalloc(to, bytes), "allocating device memory", err));
    e->owned[e->owned_count++] = *to;
    e->allocated += bytes;
    TRY(cuda_check(e, cudaMemsetAsync(*to, 0, bytes, e->stream), "clearing memory", err));
out:
    return rc;
}

status cuda_take_host(engine *e, size_t bytes, void *memory, error *err) {
    void **to = memory;
    status rc;
    if (bytes == 0) bytes = 1;
    TRY(memory_grow((void **)&e->owned_host, &e->owned_host_room, e->owned_host_count + 1,
                    sizeof *e->owned_host, err));
    TRY(cuda_check(e, cudaMallocHost(to, bytes), "allocating pinned memory", err));
    e->owned_host[e->owned_host_count++] = *to;
    memset(*to, 0, bytes);
out:
    return rc;
}

void cuda_release_all(engine *e) {
    for (size_t i = 0; i < e->owned_count; i++) (void)cudaFree(e->owned[i]);
    for (size_t i = 0; i < e->owned_host_count; i++) (void)cudaFreeHost(e->owned_host[i]);
}
