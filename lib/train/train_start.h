// SPDX-License-Identifier: MIT
// train_start.h - where a run begins: at its first step, in a cleared folder, or at the end of a
// saved state.
#ifndef LOCKSTEP_TRAIN_TRAIN_START_H
#define LOCKSTEP_TRAIN_TRAIN_START_H

#include "train/train_run.h"

// The state that --out holds between segments.
#define TRAIN_STATE "state.st.zst"

// Returns FOLDER/NAME; free() it.
char *train_start_path(const char *folder, const char *name);

run_identity train_start_identity(const train_run *r);

// Fills the checkpoint with the initial model: the one that the experiment describes, or that
// of --init, which has all values of a model but for the tensors of --init-except.
status train_start_model(train_run *r, error *err) MUST_CHECK;

// Checks that this run may write to --out, and finds where it begins. With --resume loads the saved
// state, if there is one, into the checkpoint. Changes nothing on disk.
status train_start_find(train_run *r, error *err) MUST_CHECK;

// Removes the files of an earlier run, unless this one resumes from them; the manifest in any case.
// Rank 0 calls it once only training itself can still fail.
status train_start_clear(train_run *r, error *err) MUST_CHECK;

// Prepares a restart after a death: the ranks leave nothing in this process, so their saved state
// is read again. `restarts` counts all restarts of the run, including those of earlier commands.
status train_start_again(train_run *r, int64_t restarts, error *err) MUST_CHECK;

// Puts into the manifest the device kind and the order of reduction, if they change the bits, over
// the steps so far and those to come.
void train_start_describe(const train_run *r);

#endif
