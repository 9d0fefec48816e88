// SPDX-License-Identifier: MIT
// estimates.h - estimates how long the missing executions of a plan and its turns take on this
// machine, and announces them.
#ifndef LOCKSTEP_PIPELINE_ESTIMATES_H
#define LOCKSTEP_PIPELINE_ESTIMATES_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Of a comparison, or in a dry run: announces the runs that counting_decide found missing and their
// durations, the turns, and which question will get no verdict.
status estimates_announce(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
