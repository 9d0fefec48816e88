// SPDX-License-Identifier: MIT
// turns.h - times the runs of a question about speed against each other: a stage of time-runs for
// each group of runs that may be compared.
#ifndef LOCKSTEP_PIPELINE_TURNS_H
#define LOCKSTEP_PIPELINE_TURNS_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// Sets runs->turns: the folders below ARTIFACTS/turns, one for each group of two runs or more on
// the same data (in a reproduction: of the same report). There is none if the question is not about
// speed, if EXECUTIONS asks for whole executions, or if LAUNCHER starts ranks, which may be on
// other hosts.
status turns_plan(const pipeline *p, planned_runs *runs, error *err) MUST_CHECK;
// Has one of them never been filled?
bool turns_left(const planned_runs *runs);
// Says how many runs take turns, and for how long.
void turns_announce(const pipeline *p, const planned_runs *runs);
// Runs the stages. The experiments must be in the store.
status turns_run(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
