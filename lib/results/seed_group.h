// SPDX-License-Identifier: MIT
// seed_group.h - runs that repeat one experiment, with one seed each, and what is taken over them.
#ifndef LOCKSTEP_RESULTS_SEED_GROUP_H
#define LOCKSTEP_RESULTS_SEED_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/metrics.h"
#include "results/run_list.h"
#include "results/statistics.h"

// Runs that differ in nothing but the seed: repeats of one experiment, executed alike.
typedef struct seed_group {
    const char *name; // of the experiment if no other group has it, else of the first run
    const run **runs;
    size_t count;
} seed_group;

// Returns groups in the order of their first runs. Free with seed_groups_free.
void seed_groups_make(const run_list *list, seed_group **groups, size_t *count);
// Makes the group of all runs of the experiment `name`, however they were executed; free() its
// `runs`. STATUS_INPUT if there is none.
status seed_group_named(const run_list *list, const char *name, seed_group *g,
                        error *err) MUST_CHECK;
void seed_groups_free(seed_group *groups, size_t count);

// Returns the executions of all runs of the group whose times count. free() them.
void seed_group_executions(const seed_group *g, const run ***executions, size_t *count);

// The mean of a metric over the runs of a group, with the sample deviation and the 95 % interval
// (Student's t); NAN if a run lacks the value or there are too few runs. For training results each
// seed counts once; pooled times are geometric means over the executions of all runs. Seconds per
// epoch are those of the first run that took turns, if one did; then there is no deviation.
typedef struct seed_group_statistic {
    double mean, deviation;
    interval range;
} seed_group_statistic;
seed_group_statistic seed_group_mean(const seed_group *g, const metric_row *m, size_t member);
// The first run that took turns in `t`, with its arm; in any folder, if `t` is NULL. NULL: none.
const run *seed_group_arm(const seed_group *g, const struct timed_arms *t, size_t *arm);
// The first folder in which both groups have an arm of their own; NULL: none.
const struct timed_arms *seed_group_common_timing(const seed_group *a, const seed_group *b);

// Is one of the times simulated?
bool seed_group_is_simulated(const seed_group *g);

// The share of a step's time spent waiting for data: the mean over executions of the median epoch.
// The range is the 95 % interval for three or more executions, else that from the lowest epoch to
// the highest. NAN without times.
estimate seed_group_load_share(const seed_group *g);

// The bottleneck of a step: loading if the whole interval of the share lies above one half,
// computing if it lies below.
typedef enum load_bound {
    LOAD_BOUND_LOADER,
    LOAD_BOUND_COMPUTE,
    LOAD_BOUND_UNDECIDED,
    LOAD_BOUND_UNKNOWN, // no times
    LOAD_BOUNDS
} load_bound;
load_bound load_bound_of(double share, interval range);

#endif
