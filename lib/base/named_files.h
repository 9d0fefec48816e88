// SPDX-License-Identifier: MIT
// named_files.h - the files that a command line names, and what each is for.
#ifndef LOCKSTEP_BASE_NAMED_FILES_H
#define LOCKSTEP_BASE_NAMED_FILES_H

#include <stddef.h>

#include "base/error.h"

typedef struct named_file {
    const char *role; // for messages: "--trace"
    const char *path; // NULL: was not given; "-": a standard stream
} named_file;

// Returns STATUS_USAGE if an output is also an input, or if two outputs are the same file, by
// whatever names. Call it before the first output is opened, because its old file may be gone then.
// Devices may be named twice.
status named_files_check(const named_file *inputs, size_t input_count, const named_file *outputs,
                         size_t output_count, error *err) MUST_CHECK;

#endif
