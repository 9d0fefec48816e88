// run_list.h - finding runs in folders.
#ifndef LOCKSTEP_REPORT_RUN_LIST_H
#define LOCKSTEP_REPORT_RUN_LIST_H

#include <stddef.h>

#include "base/error.h"
#include "report/run.h"

typedef struct run_list {
    run *runs;
    size_t count, capacity;
} run_list;

// Adds the runs under `path`: a train or an evaluate folder, a seed folder that holds both, or an
// experiment folder of seed-* folders. STATUS_INPUT for anything else, for a train or evaluate
// folder that is not finished, and for an evaluation of another model than the one beside it.
status run_list_add(run_list *list, const char *path, error *err) MUST_CHECK;
// Joins lone evaluations to their train runs, drops runs that were added twice, and gives every run
// its name. Call once, after all were added.
status run_list_finish(run_list *list, error *err) MUST_CHECK;
void run_list_release(run_list *list);

#endif
