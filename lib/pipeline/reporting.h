// SPDX-License-Identifier: MIT
// reporting.h - makes the report on a plan's runs.
#ifndef LOCKSTEP_PIPELINE_REPORTING_H
#define LOCKSTEP_PIPELINE_REPORTING_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Rejects unknown options in REPORT_FLAGS, and a --discussion that cannot be read, before any
// training.
status reporting_check_flags(const pipeline *p, error *err) MUST_CHECK;

// Writes the plan, measures an all-reduce on this machine if the runs compare world sizes, makes
// the report on the executions that count (counting.h), and prints a line for each run, the
// answer to the plan's question, and the report's path.
status reporting_run(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

// Returns "ARTIFACTS/machine/allreduce-…", the folder of the measurement for these runs; NULL if
// they need none. free() it.
char *reporting_collectives(const pipeline *p, const planned_runs *runs);

#endif
