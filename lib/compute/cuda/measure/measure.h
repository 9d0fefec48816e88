// SPDX-License-Identifier: MIT
// measure.h - the time of a step by operation, and what a device could do at best.
#ifndef LOCKSTEP_COMPUTE_CUDA_MEASURE_MEASURE_H
#define LOCKSTEP_COMPUTE_CUDA_MEASURE_MEASURE_H

#include "compute/cuda/library.h"
#include "compute/cuda/run/cuda_engine.h"

// stopwatch.c: measures how long the device takes for work that can be captured as a graph.
// Medians.
typedef status cuda_work(engine *e, const void *task, error *err); // enqueues it in the stream
status cuda_time(engine *e, cuda_work *work, const void *task, int repeats, double *us,
                 int *launches, error *err) MUST_CHECK;

// limits.c and profile.c, for the library's table
status cuda_limits(engine *e, device_limits *out, error *err) MUST_CHECK;
status cuda_profile(engine *e, int repeats, operation_profile *out, int room, int *count,
                    error *err) MUST_CHECK;

#endif
