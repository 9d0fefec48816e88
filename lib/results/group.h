// SPDX-License-Identifier: MIT
// group.h - runs that repeat one experiment.
#ifndef LOCKSTEP_RESULTS_GROUP_H
#define LOCKSTEP_RESULTS_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/metrics.h"
#include "results/run_list.h"
#include "results/statistics.h"

// Runs that differ in nothing but the seed: repeats of one experiment, executed alike.
typedef struct group {
    const char *name; // of the experiment if no other group has it, else of the first run
    const run **runs;
    size_t count;
} group;

// Returns groups in the order of their first runs. Free with groups_free.
void groups_make(const run_list *list, group **groups, size_t *count);
void groups_free(group *groups, size_t count);

// Returns the executions of all runs of the group whose times count. free() them.
void group_executions(const group *g, const run ***executions, size_t *count);

// The mean of a metric over the runs of a group, with the sample deviation and the 95 % interval
// (Student's t); NAN if a run lacks the value or there are too few runs. For training results each
// seed counts once; pooled times are geometric means over the executions of all runs. Seconds per
// epoch are those of the first run that took turns, if one did; then there is no deviation.
typedef struct group_statistic {
    double mean, deviation;
    interval range;
} group_statistic;
status group_mean(const group *g, const metric_row *m, size_t member, group_statistic *s,
                  error *err) MUST_CHECK;
// The first run that took turns in `t`, with its arm; in any folder, if `t` is NULL. NULL: none.
const run *group_arm(const group *g, const struct timed_arms *t, size_t *arm);
// The first folder in which both groups have an arm of their own; NULL: none.
const struct timed_arms *group_common_timing(const group *a, const group *b);

// Is one of the times simulated?
bool group_is_simulated(const group *g);

#endif
