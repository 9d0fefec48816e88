// library.h - what the tools and lockstep-cuda.so agree on.
//
// The CUDA backend is a shared object, so that the tools start, and fit in memory, where CUDA is
// not. It exports one function, which compute/devices.c looks up. No CUDA header is needed here.
#ifndef LOCKSTEP_COMPUTE_CUDA_LIBRARY_H
#define LOCKSTEP_COMPUTE_CUDA_LIBRARY_H

#include <stdint.h>

#include "base/error.h"
#include "compute/backend.h"

enum { DEVICE_NAME_BYTES = 128, DEVICE_DRIVER_BYTES = 64, DEVICE_LIBRARIES_BYTES = 64 };

// A GPU, as its driver describes it.
typedef struct device_info {
    int index;                        // as in "cuda:1"
    char name[DEVICE_NAME_BYTES];     // "NVIDIA H100 80GB HBM3"
    uint64_t memory;                  // bytes
    int capability[2];                // compute capability: {9, 0} is sm_90
    char driver[DEVICE_DRIVER_BYTES]; // version of the driver
    // "CUDA 13.0, cuBLAS 13.0.2": those that compute. Others may give other bits
    char libraries[DEVICE_LIBRARIES_BYTES];
} device_info;

// What a device reaches, measured: nothing on it is faster.
typedef struct device_limits {
    double bytes;      // a second, read and written, in its own memory
    double host_bytes; // a second, from pinned memory of the host
    double flop;       // a second: multiply-adds in single precision, as two
    double launch_us;  // of a kernel that does nothing, behind another one in a graph
} device_limits;

enum { OPERATION_NAME_BYTES = 64 };

// An operation of a step: what it takes, and what it has to move and to compute. Counted from
// shapes, lanes without a sample included: every array is read or written once; of arithmetic only
// the multiply-adds of convolutions and linear layers, as two operations each.
typedef struct operation_profile {
    char name[OPERATION_NAME_BYTES]; // "conv2 weight gradient"
    int launches;                    // of kernels, copies and fills
    double us;                       // median
    double bytes, host_bytes, flop;  // host_bytes: from or to the host
} operation_profile;

// What the driver says of a GPU, of all processes that use it together.
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
    int samples;                                // how often it was asked; 0: nothing is known
    double mean[GPU_FIGURES], max[GPU_FIGURES]; // NAN: it does not tell
} gpu_figures;

typedef struct gpu_monitor gpu_monitor;

// Raise CUDA_LIBRARY_REVISION when something that both sides share changes its meaning. When it
// changes its size, the ABI number changes by itself.
enum {
    CUDA_LIBRARY_REVISION = 5,
    CUDA_LIBRARY_ABI =
        (int)((CUDA_LIBRARY_REVISION << 20) + sizeof(backend) + sizeof(engine_options) +
              sizeof(batch) + sizeof(program) + sizeof(layer) + sizeof(device_info))
};

typedef struct cuda_library {
    int abi; // CUDA_LIBRARY_ABI of the headers that it was built with. It stays in the first place
    const backend *backend; // named "cuda"

    // Lists the GPUs: *count of them, of which the first `room` are put into `out`. Fails with the
    // driver's own words, or succeeds with none. It may initialise CUDA, which does not survive a
    // fork: the tools call it in a process of its own.
    status (*probe)(device_info *out, int room, int *count, error *err);

    // What an engine's device can do. The engine holds some hundred MB more afterwards.
    status (*limits)(engine *e, device_limits *out, error *err);

    // Times the operations of the engine's last step one by one, each `repeats` times, and behind
    // them all of them together: *count operations, of which the first `room` are put into `out`.
    // Each runs on its own in a graph, many times in a row, so what it reads is in the cache where
    // it fits there. Afterwards the engine is only good to be closed: what it has learned is lost.
    // STATUS_USAGE for an engine that has made no step, or needs others in the middle of one.
    status (*profile)(engine *e, int repeats, operation_profile *out, int room, int *count,
                      error *err);

    // Begins to ask the driver once a second, in a thread, what these GPUs are doing. It may
    // initialise CUDA: no fork afterwards. STATUS_FAILED where there is nobody to ask: the library
    // NVML, libnvidia-ml.so.1 or what LOCKSTEP_NVML_LIBRARY names, is missing or of no use.
    status (*monitor_start)(const int *indices, int count, gpu_monitor **m, error *err);
    // Ends that, asking at least once, and frees it; `out` gets as many as there were indices, or
    // is NULL. NULL is no monitor.
    void (*monitor_stop)(gpu_monitor *m, gpu_figures *out);
} cuda_library;

// What the shared object exports. It does nothing but return a constant.
typedef const cuda_library *cuda_library_entry(void);
#define CUDA_LIBRARY_SYMBOL "lockstep_cuda_backend"
__attribute__((visibility("default"))) cuda_library_entry lockstep_cuda_backend;

#endif
