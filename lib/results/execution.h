// SPDX-License-Identifier: MIT
// execution.h - the time losses of DataParallel, DistributedDataParallel and model parallelism, and
// those to other programs, from a run's `run.execution` (docs/formats.md).
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

// ---- Did other programs disturb it? ----

// A report says so, and no verdict depends on it. Seconds from the first step to the last, from
// `machine`; NAN if a manifest does not give them: then the machine counts as quiet.
typedef struct execution_load {
    double wall;
    double cpu; // processor time of the training, over its threads and ranks
    // Time for which its threads were ready to run but had no processor, or a hypervisor had it.
    double waited;
    double others; // processor time of everything else, on the cores available to it
    double cores;  // the number of these cores
    double fewer;  // share of the time of the steps in which it computed on fewer threads
} execution_load;

execution_load execution_load_of(const run *execution);

// Both must hold, as neither alone shows a slowdown from outside: others used more than a tenth of
// a processor (on many cores, 2 % of them), and threads waited for 3 % of the time that they were
// ready to run, or there were fewer of them for 3 % of the time. More threads than cores wait for
// each other, but then nothing else used the processors; and a process on a separate core delays no
// thread. If the waiting time is unknown, threads are assumed to have waited if 95 % of the
// processor time was used.
bool execution_is_disturbed(const execution_load *u);
// Counts those of the executions of a run.
size_t execution_count_disturbed(const run *r);

// Returns the share of the time in which its threads could run that they had no core; NAN: unknown.
double execution_without_core(const execution_load *u);

#endif
