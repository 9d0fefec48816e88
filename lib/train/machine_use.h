// SPDX-License-Identifier: MIT
// machine_use.h - the machine's load during a training, and the training's part of it, for
// `run.execution.machine` (docs/formats.md).
#ifndef LOCKSTEP_TRAIN_MACHINE_USE_H
#define LOCKSTEP_TRAIN_MACHINE_USE_H

#include <stdint.h>

#include "base/core_use.h"
#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/comm.h"

// Kernel counters at one moment; NAN: not available.
typedef struct machine_counts {
    uint64_t clock;
    double cpu;    // CPU seconds of this process
    double waited; // seconds for which its threads were runnable without a core
    core_use cores;
    double load; // load average of the last minute
} machine_counts;

void machine_use_count(machine_counts *now);

// Puts `machine` into rank 0's segment: the difference between `before` and now, over all ranks and
// the cores that any of them may use. All ranks call it.
status machine_use_describe(const machine_counts *before, comm *c, yaml_node *segment,
                            error *err) MUST_CHECK;

#endif
