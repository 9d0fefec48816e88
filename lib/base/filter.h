// SPDX-License-Identifier: MIT
// filter.h - other programs as filters: bytes in, bytes out.
#ifndef LOCKSTEP_BASE_FILTER_H
#define LOCKSTEP_BASE_FILTER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// Looks for a program where execvp(3) does: on PATH, unless its name has a slash. Returns 0 if it
// can be run; else why not, an errno value: ENOENT if there is none, EISDIR, EACCES.
int filter_search(const char *program);
// Returns whether there is one that can be run.
bool filter_exists(const char *program);

// Runs a program found on PATH with `input` as its standard input, and appends its standard output
// to `output`. Its environment has only PATH, a UTF-8 locale and SOURCE_DATE_EPOCH=0; its standard
// error is discarded.
//
// *found is false if there is no such program: then nothing was done, which is not a failure. If
// the program fails, is killed by a signal, or takes longer than `seconds`, that is STATUS_FAILED;
// `output` has what it wrote until then. It has ended when this returns.
status filter_run(char *const *arguments, const text *input, int seconds, text *output, bool *found,
                  error *err) MUST_CHECK;

#endif
