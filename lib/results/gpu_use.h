// gpu_use.h - what the driver said of the GPUs while a run trained: `run.gpus` (docs/formats.md).
// Only runs on several GPUs have such figures.
#ifndef LOCKSTEP_RESULTS_GPU_USE_H
#define LOCKSTEP_RESULTS_GPU_USE_H

#include <stddef.h>

#include "base/error.h"
#include "results/run.h"

enum {
    GPU_USE_UTILIZATION, // share of the time
    GPU_USE_MEMORY,      // bytes, the most
    GPU_USE_CLOCK,       // MHz
    GPU_USE_POWER,       // watts
    GPU_USE_TEMPERATURE, // degrees Celsius, the highest
    GPU_USES
};

typedef struct gpu_use {
    const char *device, *name; // "cuda:0"; they live as long as the run
    double value[GPU_USES];    // NAN: the driver did not tell
} gpu_use;

// The key of a figure in an entry of `run.gpus`, and its unit.
const char *gpu_use_key(int figure);
const char *gpu_use_unit(int figure);

// The entries of `run.gpus` if figures are among them, else 0: nothing of a run without times.
size_t gpu_use_count(const run *r);
status gpu_use_read(const run *r, size_t gpu, gpu_use *use, error *err) MUST_CHECK;

#endif
