// SPDX-License-Identifier: MIT
// execution.h - the time losses of DataParallel, DistributedDataParallel and model parallelism,
// from a run's `run.execution` (docs/formats.md).
#ifndef LOCKSTEP_RESULTS_EXECUTION_H
#define LOCKSTEP_RESULTS_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/run.h"

// The activities of a DataParallel step, in order: broadcast, scatter, forward, gather, loss,
// scatter_gradient, backward, reduce, update.
enum { EXECUTION_ACTIVITIES = 9 };
const char *execution_activity(int activity);

typedef enum execution_kind {
    EXECUTION_PLAIN,    // not given: one engine
    EXECUTION_REPLICAS, // of DataParallel
    EXECUTION_STAGES,   // of a pipeline
    EXECUTION_RANKS     // of DistributedDataParallel
} execution_kind;

// Returns the kind of the last segment.
execution_kind execution_kind_of(const run *r);
// Returns the list of replicas or stages in the last segment; NULL if there is none.
const yaml_node *execution_devices(const run *r);

// Are there times to show? A resumed or restarted run has none, nor has a run whose manifest lacks
// phases.
bool execution_has_times(const run *r);

// Figures of a step of a DataParallel run with one segment. NAN or -1 if not given.
// The bytes of one activity that cross between the master and the other replicas, and of all.
int64_t execution_bytes(const run *r, int activity);
double execution_step_bytes(const run *r);
// Seconds of a step once its batch is loaded: the sum of its activities. The share of them in which
// the master works and the other replicas wait: loss, scatter_gradient, reduce, update.
double execution_step_seconds(const run *r);
double execution_master_share(const run *r);

// The share of a step in which a device of `list` ("replicas", "stages") copies and reduces: all
// time that is neither busy nor waiting.
double execution_copying(const run *r, const char *list, size_t device);

#endif
