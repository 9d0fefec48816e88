// SPDX-License-Identifier: MIT
// load_share.h - the share of a step spent waiting for the batch: was the loader the bottleneck?
#ifndef LOCKSTEP_RESULTS_LOAD_SHARE_H
#define LOCKSTEP_RESULTS_LOAD_SHARE_H

#include "base/error.h"
#include "results/group.h"
#include "results/statistics.h"

// The share of a step's time spent waiting for data: the mean over executions of the median epoch.
// The range is the 95 % interval for three or more executions, else that from the lowest epoch to
// the highest. NAN without times.
void load_share(const group *g, estimate *share);

// The bottleneck of a step: loading if the whole interval of the share lies above one half,
// computing if it lies below.
typedef enum load_bound {
    LOAD_BOUND_LOADER,
    LOAD_BOUND_COMPUTE,
    LOAD_BOUND_UNDECIDED,
    LOAD_BOUND_UNKNOWN, // no times
    LOAD_BOUNDS
} load_bound;
load_bound load_bound_of(double share, interval range);

#endif
