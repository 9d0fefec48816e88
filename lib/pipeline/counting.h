// SPDX-License-Identifier: MIT
// counting.h - which execution in the store counts for a plan, and which seeds lack one.
//
// A seed needs one: its model is the same in all, and runs are timed by turns (turn_stages.h).
#ifndef LOCKSTEP_PIPELINE_COUNTING_H
#define LOCKSTEP_PIPELINE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "pipeline/store.h"

// Are times needed, and not only a model?
bool counting_needs_times(const pipeline *p);

// Was it trained, and evaluated with the run's views?
bool counting_is_finished(const planned_run *r, const execution *x);
// Returns what an execution lacks to count, to follow "execution 1"; NULL: it counts.
const char *counting_why_not(const pipeline *p, const planned_runs *runs, const planned_run *r,
                             const execution *x);
// Returns the first that counts of those that were last read; NULL: the seed lacks one.
const execution *counting_find(const pipeline *p, const planned_runs *runs, const planned_run *r,
                               const planned_seed *seed);

// Decides what executions must share if times are needed: host, version and sources (runs->host,
// ->version, ->sources). They are those of a set that is complete, if there is one, so that an old
// report stays up to date; else the present ones.
void counting_decide(const pipeline *p, planned_runs *runs);
// Returns how many seeds of a run, or of all, then lack an execution.
size_t counting_missing_of(const pipeline *p, const planned_runs *runs, const planned_run *r);
size_t counting_missing(const pipeline *p, const planned_runs *runs);

#endif
