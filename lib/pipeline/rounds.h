// SPDX-License-Identifier: MIT
// rounds.h - decides how many executions each run of a plan gets, estimates how long they take on
// this machine, and announces them.
#ifndef LOCKSTEP_PIPELINE_ROUNDS_H
#define LOCKSTEP_PIPELINE_ROUNDS_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// The executions of each run that a verdict on whole executions needs.
enum { ROUNDS_LEAST = 3 };

// Decides the number of rounds: EXECUTIONS, or one, since runs that are compared take turns
// (turn_stages.h). Announces the runs and their durations, and which questions will get no verdict.
status rounds_decide(pipeline *p, planned_runs *runs, int *rounds, error *err) MUST_CHECK;

#endif
