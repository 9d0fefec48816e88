// SPDX-License-Identifier: MIT
// turn_stages.h - times the runs of a question about speed against each other: those that may be
// compared are the arms of one stage, of time-runs. WHOLE=1 makes a turn a whole training, and so
// does LAUNCHER, whose ranks may be on other hosts.
#ifndef LOCKSTEP_PIPELINE_TURN_STAGES_H
#define LOCKSTEP_PIPELINE_TURN_STAGES_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Sets runs->turns: the folders below ARTIFACTS/turns, one for two runs or more on the same
// data (in a reproduction: of the same report). There is none with TIME=0, or if the question is
// not about speed: a single experiment, or a study whose values do not change it, without TIME=1
// or WHOLE=1.
status turn_stages_plan(const pipeline *p, planned_runs *runs, error *err) MUST_CHECK;
// Is it a study in which nothing is timed?
bool turn_stages_are_of_accuracy(const pipeline *p, const planned_runs *runs);
// Is a turn a whole training? Each run then has at least so many.
bool turn_stages_are_whole(const pipeline *p);
enum { TURN_STAGES_LEAST = 3 };
// Has one of them never been filled?
bool turn_stages_left(const planned_runs *runs);
// Returns for how long all of them take turns at most, if turns are not whole trainings.
double turn_stages_seconds(const planned_runs *runs);
// Says how many runs take turns, and for how long.
void turn_stages_announce(const pipeline *p, const planned_runs *runs);
// Runs the stages. The experiments must be in the store.
status turn_stages_run(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
