// reporting.h - the report on the runs of a plan.
#ifndef LOCKSTEP_PIPELINE_REPORTING_H
#define LOCKSTEP_PIPELINE_REPORTING_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// Refuses options in REPORT_FLAGS that report does not know, and a --discussion that cannot be
// read, before anything is trained.
status reporting_check_flags(const pipeline *p, error *err) MUST_CHECK;

// Writes the plan, measures an all-reduce on this machine where the runs are about ranks, makes the
// report, and prints a line for each run, the answer to the plan's question, and where it is.
status reporting_run(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

// "ARTIFACTS/machine/allreduce-…" where that was measured for these runs; NULL where it was not, or
// there is no memory. free() it.
char *reporting_collectives(const pipeline *p, const planned_runs *runs);

// Adds the folders of the runs in the store, each once.
status reporting_add_folders(const pipeline *p, const planned_runs *runs, words *command,
                             error *err) MUST_CHECK;

#endif
