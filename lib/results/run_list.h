// SPDX-License-Identifier: MIT
// run_list.h - finds runs in folders.
#ifndef LOCKSTEP_RESULTS_RUN_LIST_H
#define LOCKSTEP_RESULTS_RUN_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/run.h"

typedef struct run_list {
    run *executions; // all that were found; those of one run are adjacent
    size_t execution_count, execution_capacity;
    run *runs; // each represents its executions, and shares all but its name with them
    size_t count;
} run_list;

// Adds the executions under `path`: a train or an evaluate folder, a folder that holds both, a
// folder of numbered executions (1, 2, …) of which the finished ones count, or an experiment folder
// of seed-* folders. STATUS_INPUT for anything else, for an unfinished train or evaluate folder,
// and for an evaluation of another model than the one next to it.
status run_list_add(run_list *list, const char *path, error *err) MUST_CHECK;
// Gives every run a unique name: of its experiment, or, of several runs of one, of its folder as
// the user typed it, or of its seed.
void run_list_name(run_list *list);
void run_list_release(run_list *list);

#endif
