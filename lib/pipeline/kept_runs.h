// SPDX-License-Identifier: MIT
// kept_runs.h - the commands `runs` and `clean-runs`.
#ifndef LOCKSTEP_PIPELINE_KEPT_RUNS_H
#define LOCKSTEP_PIPELINE_KEPT_RUNS_H

#include "base/error.h"
#include "pipeline/pipeline.h"

// Prints the kept runs that the settings name, or all, as a table or as JSON.
status kept_runs_list(pipeline *p, error *err) MUST_CHECK;
// Removes the runs that the settings select, with the links to them: says which and how much, and
// asks.
status kept_runs_clean(pipeline *p, error *err) MUST_CHECK;

#endif
