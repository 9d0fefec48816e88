// SPDX-License-Identifier: MIT
// program.h - the place of the running program.
#ifndef LOCKSTEP_BASE_PROGRAM_H
#define LOCKSTEP_BASE_PROGRAM_H

#include <limits.h>

#include "base/error.h"

// Finds the folder of the running program, with links resolved and without a slash at the end. All
// tools are there, also if the program was started by a link in PREFIX/bin.
status program_folder(char folder[PATH_MAX], error *err) MUST_CHECK;

#endif
