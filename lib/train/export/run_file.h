// run_file.h - a file of a run, by the name of the run.
#ifndef LOCKSTEP_TRAIN_EXPORT_RUN_FILE_H
#define LOCKSTEP_TRAIN_EXPORT_RUN_FILE_H

#include "base/error.h"

// What `path` means: of a folder FOLDER/NAME, or FOLDER/train/NAME where that is missing; anything
// else is the file itself. A new string, free() it. STATUS_INPUT where a folder has neither.
status run_file_find(const char *path, const char *name, char **found, error *err) MUST_CHECK;

#endif
