// group.h - runs that repeat one experiment.
#ifndef LOCKSTEP_RESULTS_GROUP_H
#define LOCKSTEP_RESULTS_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/run_list.h"
#include "results/statistics.h"

// Runs that differ in nothing but the seed: repeats of one experiment, executed alike.
typedef struct group {
    const char *name; // of the experiment where no other group has it, else of the first run
    const run **runs;
    size_t count;
} group;

// Groups in the order of their first runs. Free with groups_free.
status groups_make(const run_list *list, group **groups, size_t *count, error *err) MUST_CHECK;
void groups_free(group *groups, size_t count);

// The executions of all runs of the group whose times count: what times are compared by. free()
// them.
status group_executions(const group *g, const run ***executions, size_t *count,
                        error *err) MUST_CHECK;

// Means over the runs of a group, of times over their executions, with sample deviations and 95 %
// intervals (Student's t); NAN where a run lacks the value or there are too few. The time of a
// single run is its own: the median over its executions.
typedef struct group_summary {
    double accuracy, accuracy_deviation, seconds, seconds_deviation; // seconds an epoch
    interval accuracy_range, seconds_range;
    bool simulated;
} group_summary;
status group_summarize(const group *g, group_summary *s, error *err) MUST_CHECK;

#endif
