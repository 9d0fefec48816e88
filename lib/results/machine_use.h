// machine_use.h - was the machine busy with something else while it trained? A manifest's
// `run.execution.machine` (docs/formats.md) has the figures; one without them claims nothing.
#ifndef LOCKSTEP_RESULTS_MACHINE_USE_H
#define LOCKSTEP_RESULTS_MACHINE_USE_H

#include <stdbool.h>
#include <stddef.h>

#include "results/run.h"

// Seconds from the first step to the last; NAN where a manifest does not say.
typedef struct machine_use {
    double wall;
    double cpu; // processor time of the training, over its threads and ranks
    // That its threads were ready to run and had no processor, or that a hypervisor had it.
    double waited;
    double others; // processor time of everything else, on the cores that it might use
    double cores;  // how many these are
} machine_use;

machine_use machine_use_of(const run *execution);

// Both must hold, as neither alone slows a training down for a reason outside of it: others used
// more than a tenth of a processor (on many cores 2 % of them), and threads waited for 3 % of the
// time that they wanted. More threads than cores wait for each other, but then nothing else used
// the processors; and a process on a core of its own makes nobody wait. Where waiting is not known,
// it is taken to be when 95 % of the processors' time was used.
bool machine_use_is_busy(const machine_use *u);

// How many of the executions of a run that count were disturbed so.
size_t machine_busy_executions(const run *r);

#endif
