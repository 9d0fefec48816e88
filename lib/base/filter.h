// filter.h - other programs that make bytes of bytes.
#ifndef LOCKSTEP_BASE_FILTER_H
#define LOCKSTEP_BASE_FILTER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// Is there a program of that name on PATH?
bool filter_is_there(const char *program);

// Appends to `output` what a program, found on PATH, makes of `input`. It sees no environment but
// PATH, a locale of UTF-8, and dates of the epoch; what it says on standard error is dropped.
//
// *found is false where there is no such program: then nothing was done, and that is no failure.
// One that fails, is ended by a signal, or takes longer than `seconds` is STATUS_FAILED; it has
// ended when this returns.
status filter_run(char *const *arguments, const text *input, int seconds, text *output, bool *found,
                  error *err) MUST_CHECK;

#endif
