// SPDX-License-Identifier: MIT
// monitor.h - GPU activity during a run. compute/cuda/library.h describes it.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_MONITOR_H
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_MONITOR_H

#include "compute/cuda/library.h"

status cuda_monitor_start(const int *indices, int count, gpu_monitor **m, error *err) MUST_CHECK;
void cuda_monitor_stop(gpu_monitor *m, gpu_figures *out);

#endif
