// change.h - why a run trains though its experiment has a finished one, in the user's terms; and
// whether it can go on from one with fewer epochs.
#ifndef LOCKSTEP_PIPELINE_CHANGE_H
#define LOCKSTEP_PIPELINE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// "KEY old → new, …" between two resolved experiments, or the parameters of manifests, the names
// and other labels left out; cut at `size`. Returns how many keys differ.
size_t change_keys(const yaml_node *before, const yaml_node *now, char *text, size_t size);

// For a run whose key has no execution yet. `why` says in what it differs from the run that its
// link stands for now; "" where there is none.
//
// With `may_go_on`, where the store has a finished run that is this one with fewer epochs, and the
// schedule makes it the same up to there, its state is copied into the first execution of this run,
// *resume becomes true, and `why` says so. (Such a run has no times of its own.)
status change_describe(const pipeline *p, const planned_run *r, const planned_seed *s,
                       bool may_go_on, bool *resume, char *why, size_t size, error *err) MUST_CHECK;

#endif
