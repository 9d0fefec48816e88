// SPDX-License-Identifier: MIT
// change.h - explains, in the user's terms, why a run trains although its experiment has a finished
// one, and decides whether it can continue one with fewer epochs.
#ifndef LOCKSTEP_PIPELINE_CHANGE_H
#define LOCKSTEP_PIPELINE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Writes "KEY old → new, …" for two resolved experiments or the parameters of two manifests,
// without names and other labels; cut at `size`. Returns the number of keys that differ.
size_t change_keys(const yaml_node *before, const yaml_node *now, char *keys, size_t size);

// For a run whose key has no execution yet. Writes to `why` its differences from the run that its
// link points to now, or else what the settings of this call change in it; "" if there are none.
//
// With `may_go_on`, looks in the store for a finished run that is this one with fewer epochs, with
// the same steps up to there. If there is one, copies its state into the first execution of this
// run, sets *resume, and says so in `why`. (Such a run has no times of its own.)
status change_describe(const pipeline *p, const planned_run *r, const planned_seed *s,
                       bool may_go_on, bool *resume, char *why, size_t size, error *err) MUST_CHECK;

#endif
