// SPDX-License-Identifier: MIT
// train_tools.h - all four train-* tools, for a program that asks them for keys.
#ifndef LOCKSTEP_TRAIN_TRAIN_TOOLS_H
#define LOCKSTEP_TRAIN_TRAIN_TOOLS_H

#include "base/cli.h"

// Returns the tool "train-STRATEGY"; NULL: there is none of this name.
cli_function *train_tools_find(const char *name);

#endif
