// SPDX-License-Identifier: MIT
// foreign_file.h - what a file is that a reader cannot read, by its first bytes, and how to make of
// it what is wanted. For messages only: a reader asks once it has refused the file.
#ifndef LOCKSTEP_BASE_FOREIGN_FILE_H
#define LOCKSTEP_BASE_FOREIGN_FILE_H

#include <stdbool.h>

#include "base/error.h"

typedef enum foreign_wanted {
    WANTED_TENSORS, // a tensor file: safetensors, plain or inside zstd
    WANTED_ARRAYS,  // .npy or .npz
    WANTED_FILES,   // the published files of a data set, or an archive of them
    WANTED_CLAIM,   // lockstep.claim/1
    WANTED_KINDS
} foreign_wanted;

// If the file is another one than wanted, and known, replaces the message of `err` by "DOING
// 'PATH': it is ..." and what to do; else leaves it. Of a folder it names the file to pass. A file
// that is not plain (a pipe) is not touched. Returns the code of `err`.
status foreign_file(const char *doing, const char *path, foreign_wanted wanted, error *err);

// The same for a file that is open, whose position stays; `path` is for the message.
status foreign_open_file(const char *doing, int fd, const char *path, foreign_wanted wanted,
                         error *err);

#endif
