// SPDX-License-Identifier: MIT
// output_folder.h - the folder that a tool fills: made and locked before the work, and gone again
// if the work fails before anything is in it.
#ifndef LOCKSTEP_BASE_OUTPUT_FOLDER_H
#define LOCKSTEP_BASE_OUTPUT_FOLDER_H

#include "base/error.h"
#include "base/log.h"

// A zeroed struct is closed.
typedef struct output_folder {
    char *path; // NULL: closed
    char *made; // the first folder of the path that was not there; NULL: all were
    int lock;
} output_folder;

// Makes the folder (output_make_folder) and locks it (output_lock_folder).
status output_folder_open(const char *path, const logger *log, output_folder *f,
                          error *err) MUST_CHECK;
// Unlocks it. After a failure, `rc`, removes what output_folder_open made, unless anything else is
// in it. A closed one is fine.
void output_folder_close(output_folder *f, status rc);

// For a lock of another name: returns the first folder of a path that is not there; NULL: all are.
// free() it.
char *output_folder_missing(const char *path) MUST_CHECK;
// Removes the folders from `path` up to `made`, which is such a folder or NULL, if nothing but the
// locked file `lock` is in the first of them, and nothing else in the others.
void output_folder_drop(const char *path, const char *lock, const char *made);

#endif
