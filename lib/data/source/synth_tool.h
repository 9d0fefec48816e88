// SPDX-License-Identifier: MIT
// synth_tool.h - the tool `synth-cifar`: drawn images in a number of classes.
#ifndef LOCKSTEP_DATA_SOURCE_SYNTH_TOOL_H
#define LOCKSTEP_DATA_SOURCE_SYNTH_TOOL_H

#include "base/cli.h"

cli_function synth_tool;

#endif
