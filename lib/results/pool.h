// SPDX-License-Identifier: MIT
// pool.h - pools the executions of one run: the same stage key, trained again to time it.
//
// All must have ended in the same model, so accuracies, losses and predictions can be taken from
// any of them. Their times are pooled, so they must have been made alike (like_for_like.h).
#ifndef LOCKSTEP_RESULTS_POOL_H
#define LOCKSTEP_RESULTS_POOL_H

#include <stdbool.h>

#include "base/error.h"
#include "results/run_list.h"

// Pairs lone evaluations with their trainings, drops duplicates (the same folder, or a copy of it),
// orders list->executions by run, and makes list->runs in the order of their first executions,
// still without names. Call once, after all were added. STATUS_FINDING, naming both, if two
// executions of one key ended in different models; STATUS_INPUT, naming both, if two of one run are
// unlike. `apart`: executions of the baseline and other executions are different runs.
status pool_runs(run_list *list, bool apart, error *err) MUST_CHECK;

#endif
