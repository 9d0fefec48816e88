// SPDX-License-Identifier: MIT
// shard_tool.h - the tool `shard`: deals a dataset file to V shard files.
#ifndef LOCKSTEP_DATA_SHARD_TOOL_H
#define LOCKSTEP_DATA_SHARD_TOOL_H

#include "base/cli.h"

cli_function shard_tool;

#endif
