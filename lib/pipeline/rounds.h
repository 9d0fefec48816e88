// SPDX-License-Identifier: MIT
// rounds.h - decides how many executions each run of a plan gets, and announces the runs.
#ifndef LOCKSTEP_PIPELINE_ROUNDS_H
#define LOCKSTEP_PIPELINE_ROUNDS_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// For a question about speed: as many rounds as fit into five minutes, from 3 to 10. Fewer
// executions give no interval; more gain little. A reproduction executes runs of more than
// ROUNDS_LONG seconds once.
enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 10, ROUNDS_SECONDS = 300, ROUNDS_LONG = 60 };

// Decides the number of rounds, and announces the runs and their durations. EXECUTIONS overrides,
// for all runs; an experiment or study has one round; a plan that was executed before keeps its
// number, so that a second make adds none. Puts the number into the plan (`executions`), and the
// runs that are executed once (`once`). Also tells the user which questions will get no verdict.
status rounds_decide(pipeline *p, planned_runs *runs, int *rounds, error *err) MUST_CHECK;

#endif
