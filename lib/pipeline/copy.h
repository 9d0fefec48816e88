// copy.h - whole files, read and copied.
#ifndef LOCKSTEP_PIPELINE_COPY_H
#define LOCKSTEP_PIPELINE_COPY_H

#include "base/error.h"

// The copy appears whole or not at all.
status copy_file(const char *from, const char *to, error *err) MUST_CHECK;

// A text file of at most a MiB as a string; free() it. STATUS_INPUT for a longer one.
status read_file(const char *path, char **text, error *err) MUST_CHECK;

#endif
