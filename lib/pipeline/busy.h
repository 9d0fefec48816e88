// SPDX-License-Identifier: MIT
// busy.h - is this machine busy with something else, before runs are timed on it?
//
// A report gives no verdict on times that were measured while other programs slowed the training
// down (results/machine_use.h). That is known only afterwards; this measurement is a warning.
#ifndef LOCKSTEP_PIPELINE_BUSY_H
#define LOCKSTEP_PIPELINE_BUSY_H

#include <stdint.h>

#include "base/core_use.h"
#include "pipeline/planned_run.h"

// A moment: the clock, and the processor time until then.
typedef struct busy_moment {
    uint64_t clock;
    double own; // of this program and of those that it started and waited for
    core_use cores;
} busy_moment;

void busy_begin(busy_moment *begin);

// Measures until now, at least 0.3 s, and says it if the other programs leave too few cores for
// the runs.
void busy_warn(const pipeline *p, const planned_runs *runs, const busy_moment *begin);

#endif
