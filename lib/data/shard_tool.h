// SPDX-License-Identifier: MIT
// shard_tool.h - the tool `shard`: deals a dataset file to V shard files.
#ifndef LOCKSTEP_DATA_SHARD_TOOL_H
#define LOCKSTEP_DATA_SHARD_TOOL_H

#include "base/cli.h"
#include "base/log.h"
#include "data/dataset.h"
#include "data/manifest.h"

cli_function shard_tool;

// Divides the unsharded dataset `d` among `shards` files in `folder` (which exists), replaces any
// shards there, and adds each file as an output to `m`. On failure no shard is left there, old or
// new. Memory: one shard in addition to the dataset. `log` shows progress; NULL: no progress is
// shown.
status shard_write(const dataset *d, int shards, uint64_t shard_seed, const char *folder,
                   const logger *log, manifest *m, error *err) MUST_CHECK;

#endif
