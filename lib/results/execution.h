// execution.h - where DataParallel, DistributedDataParallel and model parallelism lose their time:
// what the strategy of a run says of itself in `run.execution` (docs/formats.md).
#ifndef LOCKSTEP_RESULTS_EXECUTION_H
#define LOCKSTEP_RESULTS_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/run.h"

// What a DataParallel step does, one after the other: broadcast, scatter, forward, gather, loss,
// scatter_gradient, backward, reduce, update.
enum { EXECUTION_ACTIVITIES = 9 };
const char *execution_activity(int activity);

typedef enum execution_kind {
    EXECUTION_PLAIN,    // nothing was said: one engine
    EXECUTION_REPLICAS, // of DataParallel
    EXECUTION_STAGES,   // of a pipeline
    EXECUTION_RANKS     // of DistributedDataParallel
} execution_kind;

// Of the last segment.
execution_kind execution_kind_of(const run *r);
// The list of replicas or stages in the last segment; NULL where there is none.
const yaml_node *execution_devices(const run *r);

// Are there times to show? Not those of a resumed or restarted run, nor of one whose manifest has
// no phases.
bool execution_has_times(const run *r);

// What a DataParallel run of one segment says of a step. NAN or -1 where it does not say.
// The bytes of an activity that cross between the master and the other replicas, and of all.
int64_t execution_bytes(const run *r, int activity);
double execution_step_bytes(const run *r);
// Seconds of a step, once its batch is there: the sum of its activities. The share of them in which
// the master works and the other replicas wait: loss, scatter_gradient, reduce, update.
double execution_step_seconds(const run *r);
double execution_master_share(const run *r);

// The share of a step in which a device of `list` ("replicas", "stages") copies and reduces: what
// is neither busy nor waiting.
double execution_copying(const run *r, const char *list, size_t device);

#endif
