// SPDX-License-Identifier: MIT
// timing.h - the time of a step by phase.
//
// Events recorded inside the graphs time the phases. If the host does not wait for each step
// (engine_options.deferred), only every MARKED_EVERY-th step has them, and the others are assumed
// to take as long.
#ifndef LOCKSTEP_COMPUTE_CUDA_RUN_TIMING_H
#define LOCKSTEP_COMPUTE_CUDA_RUN_TIMING_H

#include "compute/backend.h"
#include "compute/cuda/device/device.h"
#include "compute/cuda/run/comm_hooks.h"

enum { MARKED_EVERY = 64 };
enum {
    MARK_COPY,
    MARK_BEGIN,
    MARK_LOADED,
    MARK_FORWARD,
    MARK_BACKWARD,
    MARK_REDUCED,
    MARK_UPDATE,
    MARK_UPDATED,
    MARKS
};

typedef struct step_clock {
    cudaEvent_t marks[MARKS];
    bool marking;             // does this step record its marks?
    bool capturing;           // into a graph
    unsigned marked;          // bit m: mark m was recorded since the last cuda_book()
    uint64_t profile[PHASES]; // ns of the last step that was marked
    uint64_t profile_hidden;  // phase_times.hidden_comm of it
    uint64_t inside;          // ns in this engine's calls since the last cuda_book()
    phase_times times;
} step_clock;

status cuda_clock_open(step_clock *c, const cuda_device *d, error *err) MUST_CHECK;
void cuda_clock_close(step_clock *c);
// Record a mark, or another event, if this step is marked.
void cuda_mark(step_clock *c, int mark, launch_stream s);
void cuda_mark_event(const step_clock *c, cudaEvent_t event, launch_stream s);
// Accounts for `steps` steps by the time between the marks, once the device has finished.
void cuda_book(step_clock *c, const comm_place *p, int steps);

#endif
