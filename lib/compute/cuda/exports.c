// SPDX-License-Identifier: MIT
// The exports of lockstep-cuda.so.
#include "compute/cuda/library.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "compute/cuda/device/monitor.h"
#include "compute/cuda/measure/measure.h"

extern const backend cuda_backend;

static status failed(cudaError_t code, error *err) {
    return error_set(err, STATUS_FAILED, "%s", cudaGetErrorString(code));
}

// The oldest Linux driver of each toolkit, from NVIDIA's "CUDA Compatibility".
static int oldest_driver(int runtime) {
    return runtime >= 13000 ? 580 : runtime >= 12000 ? 525 : 450;
}

// CUDA also reports a missing driver as an insufficient one, of version 0.
static status refuse_driver(error *err) {
    int driver = 0, runtime = CUDART_VERSION;
    char here[64];
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(here, sizeof here, "the NVIDIA driver supports only CUDA %d.%d", driver / 1000,
             driver % 1000 / 10);
    return error_set(err, STATUS_FAILED, "%s: this build has CUDA %d.%d, which needs driver %d",
                     driver ? here : "no NVIDIA driver", runtime / 1000, runtime % 1000 / 10,
                     oldest_driver(runtime));
}

static status describe(int index, device_info *d, error *err) {
    struct cudaDeviceProp p;
    int driver = 0, runtime = 0;
    cudaError_t code = cudaGetDeviceProperties(&p, index);
    if (code == cudaSuccess) code = cudaDriverGetVersion(&driver);
    if (code == cudaSuccess) code = cudaRuntimeGetVersion(&runtime);
    if (code != cudaSuccess) return failed(code, err);
    *d =
        (device_info){.index = index, .memory = p.totalGlobalMem, .capability = {p.major, p.minor}};
    snprintf(d->name, sizeof d->name, "%.127s", p.name);
    // The newest version that the driver can run; 13020 is CUDA 13.2.
    snprintf(d->driver, sizeof d->driver, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    snprintf(d->libraries, sizeof d->libraries, "CUDA %d.%d", runtime / 1000, runtime % 1000 / 10);
    return STATUS_OK;
}

static status probe(device_info *out, int room, int *count, error *err) {
    const cudaError_t code = cudaGetDeviceCount(count);
    *count = code == cudaSuccess ? *count : 0;
    if (code == cudaErrorInsufficientDriver) return refuse_driver(err);
    if (code != cudaSuccess) return failed(code, err);
    for (int i = 0; i < *count && i < room; i++) NEED(describe(i, &out[i], err));
    return STATUS_OK;
}

const cuda_library *lockstep_cuda_backend(void) {
    static const cuda_library library = {.abi = CUDA_LIBRARY_ABI,
                                         .backend = &cuda_backend,
                                         .die_by = memory_die_by,
                                         .probe = probe,
                                         .limits = cuda_limits,
                                         .profile = cuda_profile,
                                         .monitor_start = cuda_monitor_start,
                                         .monitor_stop = cuda_monitor_stop};
    return &library;
}
