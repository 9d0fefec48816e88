// execution.h - where DataParallel, DistributedDataParallel and model parallelism lose their time:
// what the strategy of a run says of itself in `run.execution` (docs/formats.md).
#ifndef LOCKSTEP_RESULTS_EXECUTION_H
#define LOCKSTEP_RESULTS_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "results/run.h"

// What a DataParallel step does, one after the other: broadcast, scatter, forward, gather, loss,
// scatter_gradient, backward, reduce, update.
enum { EXECUTION_ACTIVITIES = 9 };
const char *execution_activity(int activity);

// What a manifest does not give is NAN, -1 or "".
typedef struct device_use {   // of a replica, a stage, or of ranks on average
    const char *first, *last; // layers of a stage; they live as long as the run
    // Shares of a step: computing (load, forward, backward, update), copying and reducing (copy,
    // comm), waiting. They add up to 1.
    double busy, copying, waiting;
    int64_t bytes_sent; // a step
    int64_t memory;     // bytes of its engine
} device_use;

typedef enum execution_kind {
    EXECUTION_PLAIN,    // nothing was said: one engine
    EXECUTION_REPLICAS, // of DataParallel
    EXECUTION_STAGES,   // of a pipeline
    EXECUTION_RANKS     // of DistributedDataParallel
} execution_kind;

typedef struct execution {
    execution_kind kind; // of the last segment
    device_use *devices; // replicas or stages, in order; of ranks there is none
    size_t count;
    double seconds[EXECUTION_ACTIVITIES]; // replicas: of a step
    int64_t bytes[EXECUTION_ACTIVITIES];  // replicas: between master and others; -1: none cross
    // Stages: micro-batches a step, and the share of the time in which a stage has nothing to do.
    double micro_batches, bubble_measured, bubble_predicted;
    double vectors;     // ranks: that rank 0 brings to a reduction
    int64_t bytes_sent; // ranks: by rank 0, a step
    double hidden_comm; // ranks: seconds a step; NAN where nothing is reduced beside backward
} execution;

// STATUS_INPUT, with the place in the manifest, when something in it is not what it should be.
status execution_read(const run *r, execution *e, error *err) MUST_CHECK;
// A zeroed struct is fine.
void execution_release(execution *e);

// Are there times to show? Not those of a resumed or restarted run, nor of one whose manifest has
// no phases.
bool execution_has_times(const run *r);

// Seconds of a DataParallel step, once its batch is there: the sum of its activities.
double execution_step_seconds(const execution *e);
// The share of it in which the master works and the other replicas wait: loss, scatter_gradient,
// reduce, update.
double execution_master_share(const execution *e);

// The mean over the ranks, replicas or stages of any strategy, from the phases of a step
// (run_time_split). This is the definition of a busy fraction: 1 - (copy + comm + wait) / wall. NAN
// without times.
device_use execution_mean_use(const run *r);

#endif
