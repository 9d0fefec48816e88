// named_files.h - the files that a command line names, and what each is for.
#ifndef LOCKSTEP_BASE_NAMED_FILES_H
#define LOCKSTEP_BASE_NAMED_FILES_H

#include <stddef.h>

#include "base/error.h"

typedef struct named_file {
    const char *role; // for messages: "--trace"
    const char *path; // NULL: was not given; "-": a standard stream
} named_file;

// To be called before the first of the outputs is opened, since its file may be gone then:
// STATUS_USAGE when an output is one of the inputs, or two outputs are one file, by whatever names.
// Devices may be named twice.
status named_files_check(const named_file *inputs, size_t input_count, const named_file *outputs,
                         size_t output_count, error *err) MUST_CHECK;

#endif
