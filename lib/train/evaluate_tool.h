// SPDX-License-Identifier: MIT
// evaluate_tool.h - the tool `evaluate`: evaluates a trained model on a dataset, or classifies
// single pictures.
#ifndef LOCKSTEP_TRAIN_EVALUATE_TOOL_H
#define LOCKSTEP_TRAIN_EVALUATE_TOOL_H

#include "base/cli.h"

cli_function evaluate_tool;

#endif
