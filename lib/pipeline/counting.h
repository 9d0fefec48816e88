// SPDX-License-Identifier: MIT
// counting.h - which executions in the store count for a plan, and how many it lacks.
//
// Several runs that are timed several times are compared within rounds: a round executes every run
// once, one after the other. `run.round` in a manifest names the round of an execution, and an
// execution counts only if every run of the plan has one of the same round. So a run that has too
// few is not topped up alone, at another hour than the others: whole rounds are added. A round that
// was interrupted is completed.
#ifndef LOCKSTEP_PIPELINE_COUNTING_H
#define LOCKSTEP_PIPELINE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "pipeline/store.h"

// Returns the number of executions per seed that a report of `rounds` rounds needs of this run;
// several seeds reduce it.
int counting_wanted(const planned_run *r, int rounds);
// Are times needed, and not only a model?
bool counting_needs_times(const pipeline *p, int wanted);

// Of the executions of a seed, the indices of those that count.
typedef struct execution_set {
    const execution_list *list; // of the seed
    size_t *counting, count;
} execution_set;

// Was it trained, and evaluated with the run's views?
bool counting_is_finished(const planned_run *r, const execution *x);
// Finds them among the executions that were last read.
void counting_find(const pipeline *p, const planned_runs *runs, const planned_run *r,
                   const planned_seed *seed, int wanted, execution_set *s);
void counting_release(execution_set *s);
// Returns what an execution lacks to count, to follow "execution 1"; NULL: it counts.
const char *counting_why_not(const pipeline *p, const planned_runs *runs, const planned_run *r,
                             const execution *x, int wanted);
// Returns the round that a new execution of the set belongs to; NULL: none.
const char *counting_round(const planned_runs *runs, const planned_run *r, const execution_set *s);

// Returns how many executions are missing for `rounds` rounds. If the question is about speed, only
// comparable executions count: those of one host, version and sources (runs->host, ->version,
// ->sources), in common rounds (runs->rounds). Sets these to the ones of a set that is already
// complete, if there is one, else to the present ones.
int counting_missing(const pipeline *p, planned_runs *runs, int rounds);
// The same for one run of the plan, once counting_missing has decided these.
int counting_missing_of(const pipeline *p, const planned_runs *runs, const planned_run *r,
                        int rounds);

#endif
