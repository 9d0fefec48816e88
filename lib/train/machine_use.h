// machine_use.h - what a machine did while this trained, and how much of that was the training:
// what `run.execution.machine` records (docs/formats.md).
#ifndef LOCKSTEP_TRAIN_MACHINE_USE_H
#define LOCKSTEP_TRAIN_MACHINE_USE_H

#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/comm.h"

enum { MACHINE_CORES = 1024 };

// Counters of the kernel at one moment; NAN where it does not count.
typedef struct machine_counts {
    uint64_t clock;
    double cpu;                   // seconds of processor time of this process
    double waited;                // that its threads were ready to run and had no processor
    double used[MACHINE_CORES];   // of each core, by anybody, with what a hypervisor took
    double stolen[MACHINE_CORES]; // what that was
    double load;                  // average of the last minute: processes that want a core
} machine_counts;

void machine_use_count(machine_counts *now);

// Puts `machine` into the segment of rank 0: the difference from `before` until now, over all ranks
// and the cores that any of them may use. All ranks call it.
status machine_use_describe(const machine_counts *before, comm *c, yaml_node *segment,
                            error *err) MUST_CHECK;

#endif
