// SPDX-License-Identifier: MIT
// execute.h - trains and evaluates the missing runs of a plan: all runs of one seed before those of
// the next, so that a machine that slows down affects all runs alike.
#ifndef LOCKSTEP_PIPELINE_EXECUTE_H
#define LOCKSTEP_PIPELINE_EXECUTE_H

#include <stdbool.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "pipeline/store.h"

// Checks every missing run, without writing anything: device, data, number of classes, model.
status execute_check(const pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

// Executes the missing runs, JOBS at a time. STATUS_FINDING, naming both folders, if two executions
// of a key end in different models.
status execute_all(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
