// SPDX-License-Identifier: MIT
// run_file.h - finds a file of a run from the path of the run.
#ifndef LOCKSTEP_TRAIN_EXPORT_RUN_FILE_H
#define LOCKSTEP_TRAIN_EXPORT_RUN_FILE_H

#include "base/error.h"

// FOLDER/NAME or FOLDER/train/NAME if `path` is a folder; else `path` itself. A new string, free()
// it. STATUS_INPUT if the folder holds neither.
status run_file_find(const char *path, const char *name, char **found, error *err) MUST_CHECK;

#endif
