// pool.h - executions of one run: the same stage key, trained again to time it.
//
// Each must have ended in the same model, so accuracies, losses and predictions are those of any of
// them. Times are pooled where all was executed alike (like_for_like.h). Of executions that differ
// the set counts whose machine and build the most other runs have executions of, of such sets the
// largest, and of sets of one size the newest; a resumed execution counts only where no other has
// times.
#ifndef LOCKSTEP_RESULTS_POOL_H
#define LOCKSTEP_RESULTS_POOL_H

#include <stdbool.h>

#include "base/error.h"
#include "results/run_list.h"

// Orders list->executions by run, what counts first, and makes list->runs: in the order of their
// first executions. STATUS_FINDING when two executions of one key ended in different models, naming
// both. `apart`: executions of the baseline and others are different runs.
status pool_runs(run_list *list, bool apart, error *err) MUST_CHECK;

#endif
