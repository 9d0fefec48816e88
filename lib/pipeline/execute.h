// execute.h - trains and evaluates the missing runs of a plan, round by round.
//
// A round executes every run once, all runs of one seed before those of the next, so that a machine
// that grows slower does so for all alike. Executions in the store count.
#ifndef LOCKSTEP_PIPELINE_EXECUTE_H
#define LOCKSTEP_PIPELINE_EXECUTE_H

#include <stdbool.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"
#include "pipeline/store.h"

// Moves run folders of an earlier version into the store, and says so.
status execute_adopt(const pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

// How many executions of this run a report of `rounds` rounds wants: its seeds count, too.
int execute_wanted(const planned_run *r, int rounds);

// How many executions are not there for `rounds` rounds. Where the question is about speed, only
// those count that may be held against each other: of one host and version (runs->host, ->version).
// These become those of a set that is complete already, if there is one, else the present ones.
status execute_missing(const pipeline *p, planned_runs *runs, int rounds, int *missing,
                       error *err) MUST_CHECK;

// Of one run of the plan, with the host and version that runs->host and ->version say.
status execute_missing_of(const pipeline *p, const planned_runs *runs, const planned_run *r,
                          int rounds, int *missing, error *err) MUST_CHECK;

// Checks every run that is not there, without writing anything: device, data, class count, model.
status execute_check(const pipeline *p, const planned_runs *runs, int rounds,
                     error *err) MUST_CHECK;

// Does it. STATUS_FINDING, naming both folders, when two executions of a key end in other models.
status execute_all(pipeline *p, const planned_runs *runs, int rounds, error *err) MUST_CHECK;

#endif
