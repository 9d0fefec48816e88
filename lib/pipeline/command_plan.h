// SPDX-License-Identifier: MIT
// command_plan.h - the plan of each command: which runs answer it, and where its report goes.
#ifndef LOCKSTEP_PIPELINE_COMMAND_PLAN_H
#define LOCKSTEP_PIPELINE_COMMAND_PLAN_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Makes the plan for the settings' command, and resolves its runs; release them even after a
// failure.
status command_plan_make(const pipeline *p, planned_runs *runs, error *err) MUST_CHECK;

#endif
