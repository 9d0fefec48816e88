// SPDX-License-Identifier: MIT
// machine_use.h - did other programs disturb a training? A report says so, and no verdict depends
// on it. The figures come from a manifest's `run.execution.machine` (docs/formats.md); without them
// the machine counts as quiet.
#ifndef LOCKSTEP_RESULTS_MACHINE_USE_H
#define LOCKSTEP_RESULTS_MACHINE_USE_H

#include <stdbool.h>

#include "results/run.h"

// Seconds from the first step to the last; NAN if a manifest does not give them.
typedef struct machine_use {
    double wall;
    double cpu; // processor time of the training, over its threads and ranks
    // Time for which its threads were ready to run but had no processor, or a hypervisor had it.
    double waited;
    double others; // processor time of everything else, on the cores available to it
    double cores;  // the number of these cores
} machine_use;

machine_use machine_use_of(const run *execution);

// Both must hold, as neither alone shows a slowdown from outside: others used more than a tenth of
// a processor (on many cores, 2 % of them), and threads waited for 3 % of the time that they were
// ready to run. More threads than cores wait for each other, but then nothing else used the
// processors; and a process on a separate core delays no thread. If the waiting time is unknown,
// threads are assumed to have waited if 95 % of the processor time was used.
bool machine_use_is_disturbed(const machine_use *u);

// Returns the share of the time in which its threads could run that they had no core; NAN: unknown.
double machine_use_without_core(const machine_use *u);

#endif
