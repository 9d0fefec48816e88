// SPDX-License-Identifier: MIT
// operations.h - the operations of a plan on groups of samples.
#ifndef LOCKSTEP_COMPUTE_CPU_OPERATIONS_H
#define LOCKSTEP_COMPUTE_CPU_OPERATIONS_H

#include "compute/cpu/cpu_plan.h"

// Runs operations [first, end) on a chunk of groups, and accounts for their time. All threads of a
// crew call this together; each runs its slices, and the first one what is not cut. They meet
// before and after each operation that is cut, but not before the first or after the last one.
void operations_run(group_work *chunk, int count, const cpu_plan *p, int first, int end);

#endif
