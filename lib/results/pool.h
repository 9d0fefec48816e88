// SPDX-License-Identifier: MIT
// pool.h - pools the executions of one run: the same stage key, trained again to time it.
//
// All must have ended in the same model, so accuracies, losses and predictions can be taken from
// any of them. Times are pooled if all executions are alike (like_for_like.h). If they differ,
// one set of like executions counts: the set whose machine and build also executed the most other
// runs, then the largest, then the newest. A resumed execution counts only if no other has times.
// If the runs that have several executions have some of common rounds (pipeline/counting.h), only
// these count.
#ifndef LOCKSTEP_RESULTS_POOL_H
#define LOCKSTEP_RESULTS_POOL_H

#include <stdbool.h>

#include "base/error.h"
#include "results/run_list.h"

// Pairs lone evaluations with their trainings, drops duplicates (the same folder, or a copy of it),
// orders list->executions by run, those that count first, and makes list->runs in the order of
// their first executions, still without names. Call once, after all were added. STATUS_FINDING,
// naming both, if two executions of one key ended in different models. `apart`: executions of the
// baseline and other executions are different runs.
status pool_runs(run_list *list, bool apart, error *err) MUST_CHECK;

#endif
