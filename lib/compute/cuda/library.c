// What lockstep-cuda.so exports.
#include "compute/cuda/library.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "compute/cuda/engine.h"
#include "compute/cuda/monitor.h"

extern const backend cuda_backend;

static status failed(cudaError_t code, error *err) {
    return error_set(err, STATUS_FAILED, "%s", cudaGetErrorString(code));
}

static status describe(int index, device_info *d, error *err) {
    struct cudaDeviceProp p;
    int driver = 0;
    cudaError_t code = cudaGetDeviceProperties(&p, index);
    if (code == cudaSuccess) code = cudaDriverGetVersion(&driver);
    if (code != cudaSuccess) return failed(code, err);
    *d =
        (device_info){.index = index, .memory = p.totalGlobalMem, .capability = {p.major, p.minor}};
    snprintf(d->name, sizeof d->name, "%.127s", p.name);
    // 13020 is CUDA 13.2, the newest that the driver can run.
    snprintf(d->driver, sizeof d->driver, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    return STATUS_OK;
}

static status probe(device_info *out, int room, int *count, error *err) {
    const cudaError_t code = cudaGetDeviceCount(count);
    *count = code == cudaSuccess ? *count : 0;
    if (code != cudaSuccess) return failed(code, err);
    for (int i = 0; i < *count && i < room; i++) {
        status rc = describe(i, &out[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

const cuda_library *lockstep_cuda_backend(void) {
    static const cuda_library library = {.abi = CUDA_LIBRARY_ABI,
                                         .backend = &cuda_backend,
                                         .probe = probe,
                                         .limits = cuda_limits,
                                         .profile = cuda_profile,
                                         .monitor_start = cuda_monitor_start,
                                         .monitor_stop = cuda_monitor_stop};
    return &library;
}
