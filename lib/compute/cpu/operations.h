// SPDX-License-Identifier: MIT
// operations.h - the operations of a plan on groups of samples.
#ifndef LOCKSTEP_COMPUTE_CPU_OPERATIONS_H
#define LOCKSTEP_COMPUTE_CPU_OPERATIONS_H

#include "compute/cpu/cpu_plan.h"

// Runs operations [first, end) on a chunk of groups, and accounts for their time.
void operations_run(const group_work *chunk, int count, const cpu_plan *p, int first, int end);

#endif
