// SPDX-License-Identifier: MIT
// manifest_folders.h - the manifests in a folder: of one stage, or of a run, which holds its stages
// (train/, evaluate/).
#ifndef LOCKSTEP_DATA_MANIFEST_FOLDERS_H
#define LOCKSTEP_DATA_MANIFEST_FOLDERS_H

#include <stdbool.h>

#include "base/error.h"
#include "data/manifest_check.h"

// Returns true for a folder that has no manifest of its own but one in train/.
bool manifest_is_run_folder(const char *path);

// For a message about `path`, which is no folder of a run: returns ": folders of runs are 'a',
// 'b'", those in it, or around or beside the output of another tool; "" if there are none. free()
// it.
char *manifest_hint_runs(const char *path);

// Finds the manifest that `path` means: PATH/manifest.yaml of a folder, that of train/ of a run,
// otherwise `path` itself. free() it.
// STATUS_INPUT for a folder that has none, but contains runs: the message names them.
status manifest_locate(const char *path, char **file, error *err) MUST_CHECK;

// Runs manifest_diff on the manifests that both paths mean. Two runs are compared stage by stage,
// with "train: " or "evaluate: " before each finding. If only one of them was evaluated, that is a
// finding.
status manifest_diff_paths(const char *a, const char *b, manifest_findings *f,
                           error *err) MUST_CHECK;

#endif
