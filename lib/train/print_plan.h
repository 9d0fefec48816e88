// SPDX-License-Identifier: MIT
// print_plan.h - the plan of an experiment's steps, for --print-plan.
#ifndef LOCKSTEP_TRAIN_PRINT_PLAN_H
#define LOCKSTEP_TRAIN_PRINT_PLAN_H

#include "compute/devices.h"
#include "experiment/experiment.h"

// Prints the operations of a step of the first epoch to standard output, as an engine with all
// shards runs them on the first of the devices, which must be open. It needs no data.
status print_plan_of(const experiment *e, const devices *d, error *err) MUST_CHECK;

#endif
