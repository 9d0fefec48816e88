// SPDX-License-Identifier: MIT
// library.h - the interface between the tools and lockstep-cuda.so.
//
// The CUDA backend is a shared object, so that the tools also start, and fit in memory, on hosts
// without CUDA. It exports one function, which compute/devices.c looks up. This header includes
// none of CUDA's.
#ifndef LOCKSTEP_COMPUTE_CUDA_LIBRARY_H
#define LOCKSTEP_COMPUTE_CUDA_LIBRARY_H

#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "compute/plan/units.h"

enum { DEVICE_NAME_BYTES = 128, DEVICE_DRIVER_BYTES = 64, DEVICE_LIBRARIES_BYTES = 64 };

// A GPU as its driver describes it.
typedef struct device_info {
    int index;                        // as in "cuda:1"
    char name[DEVICE_NAME_BYTES];     // "NVIDIA H100 80GB HBM3"
    uint64_t memory;                  // bytes
    int capability[2];                // compute capability: {9, 0} is sm_90
    char driver[DEVICE_DRIVER_BYTES]; // version of the driver
    // "CUDA 13.0": the libraries that are always needed. An engine names cuBLAS if it uses it
    char libraries[DEVICE_LIBRARIES_BYTES];
} device_info;

// Measured upper bounds of a device's speed.
typedef struct device_limits {
    double bytes;      // per second, read and written, in its own memory
    double host_bytes; // per second, from pinned host memory
    double flop;       // per second: single-precision multiply-adds, two flop each
    double launch_us;  // of an empty kernel that follows another one in a graph
} device_limits;

enum { OPERATION_NAME_BYTES = LAYER_NAME_BYTES + 32 };

// An operation of a step: its time, its memory traffic and its arithmetic. The latter two are
// counted from shapes, lanes without a sample included: every array is read or written once;
// arithmetic is only the multiply-adds of convolutions and linear layers, two operations each.
typedef struct operation_profile {
    char name[OPERATION_NAME_BYTES]; // "conv2 weight gradient"
    int launches;                    // of kernels, copies and fills
    double us;                       // median
    double bytes, host_bytes, flop;  // host_bytes: from or to the host
} operation_profile;

// Driver figures of a GPU, for all processes that use it together.
typedef enum gpu_figure {
    GPU_UTILIZATION,        // share of the time in which a kernel ran
    GPU_MEMORY_UTILIZATION, // ... in which its memory was read or written
    GPU_MEMORY_USED,        // bytes
    GPU_SM_CLOCK,           // MHz
    GPU_POWER,              // W
    GPU_TEMPERATURE,        // degrees Celsius
    GPU_FIGURES,
} gpu_figure;

typedef struct gpu_figures {
    int samples;                                // number of samples; 0: nothing is known
    double mean[GPU_FIGURES], max[GPU_FIGURES]; // NAN: not available
} gpu_figures;

typedef struct gpu_monitor gpu_monitor;

// Raise CUDA_LIBRARY_REVISION when something that both sides share changes its meaning. A change of
// its size changes the ABI number by itself.
enum {
    CUDA_LIBRARY_REVISION = 7,
    CUDA_LIBRARY_ABI = (int)((CUDA_LIBRARY_REVISION << 20) + sizeof(backend) +
                             sizeof(engine_options) + sizeof(batch) + sizeof(program) +
                             sizeof(layer) + sizeof(unit_layers) + sizeof(device_info))
};

typedef struct cuda_library {
    int abi; // CUDA_LIBRARY_ABI of the headers it was built with. Must stay the first field
    const backend *backend; // named "cuda"

    // Gives the library the function that ends the process when there is no memory (memory.h).
    void (*die_by)(memory_end *end);

    // Lists the GPUs: *count of them; the first `room` are written to `out`. Fails with the
    // driver's message, or succeeds with none. It may initialise CUDA, which does not survive a
    // fork: the tools call it in a separate process.
    status (*probe)(device_info *out, int room, int *count, error *err);

    // Measures the limits of an engine's device. The engine then holds a few hundred MB more.
    status (*limits)(engine *e, device_limits *out, error *err);

    // Times the operations of the engine's last step one by one, each `repeats` times, and then all
    // of them together: *count operations; the first `room` are written to `out`. Each runs alone
    // in a graph, many times in a row, so its input is cached if it fits. Afterwards the engine can
    // only be closed: its training state is lost. Returns STATUS_USAGE for an engine that has made
    // no step, or whose step depends on other engines midway.
    status (*profile)(engine *e, int repeats, operation_profile *out, int room, int *count,
                      error *err);

    // Starts a thread that queries the driver once per second for the activity of these GPUs. It
    // may initialise CUDA: no fork afterwards. Returns STATUS_FAILED if the library NVML
    // (libnvidia-ml.so.1, or the one that LOCKSTEP_NVML_LIBRARY names) is missing or unusable.
    status (*monitor_start)(const int *indices, int count, gpu_monitor **m, error *err);
    // Stops the monitor after at least one query, and frees it; writes as many figures to `out` as
    // there were indices, unless it is NULL. `m` may be NULL.
    void (*monitor_stop)(gpu_monitor *m, gpu_figures *out);
} cuda_library;

// The shared object's export. It only returns a constant.
typedef const cuda_library *cuda_library_entry(void);
#define CUDA_LIBRARY_SYMBOL "lockstep_cuda_backend"
__attribute__((visibility("default"))) cuda_library_entry lockstep_cuda_backend;

#endif
