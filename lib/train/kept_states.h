// SPDX-License-Identifier: MIT
// kept_states.h - states in the course of a run that --keep-states keeps, so that `replay` can
// train the steps between any two of them again.
//
// They are files like state.st.zst, in the folder OUT/states, named by the number of steps done:
// 000000120.st.zst.
#ifndef LOCKSTEP_TRAIN_KEPT_STATES_H
#define LOCKSTEP_TRAIN_KEPT_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "data/manifest.h"

enum { KEPT_STATES_MAX = 1000 };

// Is the state after `step` steps kept? The `segments` parts of a run of `total` steps differ in
// length by at most a step; the last one ends with state.st.zst. 0 or 1: no state is kept.
bool kept_states_is_due(int segments, uint64_t step, uint64_t total);

// Writes the path of the state after `step` steps to `path`, and makes its folder; free() it.
status kept_states_path(const char *out, uint64_t step, char **path, error *err) MUST_CHECK;

// Removes those of an earlier run.
status kept_states_clear(const char *out, error *err) MUST_CHECK;

// Adds all in the folder to the manifest's outputs, in the order of their steps.
status kept_states_describe(const char *out, manifest *m, error *err) MUST_CHECK;

#endif
