// SPDX-License-Identifier: MIT
// cpu_plan.h - the plan of a step or an inference (plan/step_plan.h), and what it needs here.
//
// In a superstep every thread runs the operations on its own groups, one group after another, so
// that the activations of a group stay in the cache. If images are so small that one does not fill
// a block of Winograd's algorithm, it takes a few groups at a time, a *chunk*: each operation of
// the superstep on all of them, then the next operation.
#ifndef LOCKSTEP_COMPUTE_CPU_CPU_PLAN_H
#define LOCKSTEP_COMPUTE_CPU_CPU_PLAN_H

#include "compute/cpu/group_work.h"

typedef struct superstep_needs {
    int chunk;            // groups that its operations take at a time, at most
    size_t values, added; // floats of each of these in the memory of the thread
} superstep_needs;

typedef struct cpu_plan {
    step_plan steps;
    uint32_t frozen;        // groups of parameters whose gradients it leaves out
    superstep_needs *needs; // of each superstep
    // For products by Winograd's algorithm: filters, transformed (packing.h), of all operations, or
    // of one superstep at a time; and the offset of those of each operation.
    bool by_superstep;
    float *filters; // the caller's
    size_t filter_floats, *filters_at;
    size_t values_floats, added_floats; // of the largest chunk
} cpu_plan;

void cpu_plan_training(cpu_plan *p, const execution *e, uint32_t frozen);
void cpu_plan_inference(cpu_plan *p, const execution *e);
void cpu_plan_release(cpu_plan *p);

#endif
