// train_start.h - where a run begins: at its first step in a folder that is cleared for it, or
// where a saved state ends.
#ifndef LOCKSTEP_TRAIN_TRAIN_START_H
#define LOCKSTEP_TRAIN_TRAIN_START_H

#include "train/train_run.h"

// The state that --out holds between its segments.
#define TRAIN_STATE "state.st.zst"

// FOLDER/NAME; free() it.
status train_start_path(const char *folder, const char *name, char **path, error *err) MUST_CHECK;

run_identity train_start_identity(const train_run *r);

// Is this process rank 0, or will rank 0 be one that it starts? The one that writes and speaks.
bool train_start_leads(const train_settings *s);

// May this run write into --out, and where does it begin? With --resume the checkpoint becomes the
// saved state; without one it stays as it is. Changes nothing on disk.
status train_start_find(train_run *r, error *err) MUST_CHECK;

// Removes the files of an earlier run, unless this one goes on from them; the manifest in any case.
// For rank 0, when nothing but training itself can fail any more.
status train_start_clear(train_run *r, error *err) MUST_CHECK;

// Ranks that a death has ended leave nothing in this process: their saved state is read again.
// `restarts` counts all restarts of the run, those of earlier commands included.
status train_start_again(train_run *r, int64_t restarts, error *err) MUST_CHECK;

// Puts into the manifest the kinds of devices and the orders of reduction that change the bits, of
// the steps so far and of those to come.
status train_start_describe(const train_run *r, error *err) MUST_CHECK;

#endif
