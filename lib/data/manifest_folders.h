// manifest_folders.h - the manifests of folders: of one stage, or of a run, which holds its stages
// (train/, evaluate/).
#ifndef LOCKSTEP_DATA_MANIFEST_FOLDERS_H
#define LOCKSTEP_DATA_MANIFEST_FOLDERS_H

#include <stdbool.h>

#include "base/error.h"
#include "data/manifest_check.h"

// Is it a folder without a manifest of its own, whose train/ has one?
bool manifest_is_run_folder(const char *path);

// The file that `path` means: PATH/manifest.yaml of a folder, that of train/ of a run, `path`
// itself of everything else. free() it.
status manifest_locate(const char *path, char **file, error *err) MUST_CHECK;

// manifest_diff of what both paths mean; of two runs stage by stage, with "train: " or "evaluate: "
// in front of each finding. That only one of them was evaluated is a finding.
status manifest_diff_paths(const char *a, const char *b, manifest_findings *f,
                           error *err) MUST_CHECK;

#endif
