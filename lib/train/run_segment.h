// SPDX-License-Identifier: MIT
// run_segment.h - what a segment of `run.execution` (docs/formats.md) says about the machines: the
// hosts and devices of the ranks, the load of the machine and the training's part of it, and the
// numbers of threads that it used.
#ifndef LOCKSTEP_TRAIN_RUN_SEGMENT_H
#define LOCKSTEP_TRAIN_RUN_SEGMENT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "dist/comm.h"
#include "train/thread_number.h"

// If the ranks are on several hosts, adds `hosts` to this run's segment in `run.execution`: a list
// of `host` and `ranks`, ordered by first rank. If some ranks were given other devices than rank 0,
// its `devices` become a list with an entry for each rank; not if `d` is NULL. All ranks call it,
// with their own devices.
status run_segment_describe_hosts(comm *c, const devices *d, int local_rank, yaml_node *segment,
                                  error *err) MUST_CHECK;

// Kernel counters at one moment; NAN: not available.
typedef struct machine_counts {
    uint64_t clock;
    double cpu;    // CPU seconds of this process
    double waited; // seconds for which its threads were runnable without a core
    core_use cores;
    double load; // load average of the last minute
} machine_counts;

void run_segment_count(machine_counts *now);

// Puts `machine` into rank 0's segment: the difference between `before` and now, over all ranks and
// the cores that any of them may use. All ranks call it.
status run_segment_describe_load(const machine_counts *before, comm *c, yaml_node *segment,
                                 error *err) MUST_CHECK;

// If the number of threads follows the machine, puts `threads_used` into rank 0's segment: each
// number that was used, with its steps and seconds, summed over the ranks. All ranks call it.
status run_segment_describe_threads(const thread_number *t, comm *c, yaml_node *segment,
                                    error *err) MUST_CHECK;

#endif
