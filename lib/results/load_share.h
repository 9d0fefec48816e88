// load_share.h - was it the loader? How much of a step goes to waiting for the batch.
#ifndef LOCKSTEP_RESULTS_LOAD_SHARE_H
#define LOCKSTEP_RESULTS_LOAD_SHARE_H

#include "base/error.h"
#include "results/group.h"
#include "results/statistics.h"

// Share of the time of a step that goes to waiting for data: the mean over executions of the median
// epoch. The range is the 95 % interval of three executions or more, else from the least epoch to
// the largest. NAN without times.
status load_share(const group *g, estimate *share, error *err) MUST_CHECK;

// What limits a step: loading where the whole interval of the share lies above a half, computing
// where it lies below.
typedef enum load_bound {
    LOAD_BOUND_LOADER,
    LOAD_BOUND_COMPUTE,
    LOAD_BOUND_UNDECIDED,
    LOAD_BOUND_UNKNOWN, // no times
    LOAD_BOUNDS
} load_bound;
load_bound load_bound_of(double share, interval range);

#endif
