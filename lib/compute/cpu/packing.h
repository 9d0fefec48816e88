// SPDX-License-Identifier: MIT
// packing.h - copies of weights as the kernels of convolutions take them. A thread makes its share.
#ifndef LOCKSTEP_COMPUTE_CPU_PACKING_H
#define LOCKSTEP_COMPUTE_CPU_PACKING_H

#include "compute/cpu/cpu_plan.h"

// All copies that other parameters make old. packing_run: by all threads.
void packing_update(const execution *e, const cpu_plan *training, int member);
void packing_run(team *t, const execution *e, const cpu_plan *training);
// Transforms the filters of operations [first, end), for products by Winograd's algorithm.
void packing_transform(const execution *e, const cpu_plan *p, int first, int end, int member);

#endif
