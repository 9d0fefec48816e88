// SPDX-License-Identifier: MIT
// shard_files.h - a dataset divided among V files: shard-00000-of-00004.st.zst and so on.
//
// Each file holds its samples in shard order. Its metadata has that of the unsharded file and
// shards (V), shard (its number), shard_seed and source (content hash of the unsharded file).
#ifndef LOCKSTEP_DATA_SHARD_FILES_H
#define LOCKSTEP_DATA_SHARD_FILES_H

#include <stdbool.h>

#include "base/error.h"

enum { SHARDS_MAX = 1024, SHARD_NAME_BYTES = 40 };

// "shard-00002-of-00004.st.zst".
void shard_files_name(int shard, int shards, char name[SHARD_NAME_BYTES]);

// The inverse; returns false for every other name.
bool shard_files_parse_name(const char *name, int *shard, int *shards);

// Finds out whether `path` is a folder. STATUS_INPUT if it does not exist. "-" is a file.
status shard_files_is_folder(const char *path, bool *folder, error *err) MUST_CHECK;

// Lists the paths of all shards in `folder`, in order; free() each and the array. STATUS_INPUT if
// there is none, if one is missing (the message names it), or if the folder mixes shards of two
// partitions.
status shard_files_list(const char *folder, char ***paths, int *count, error *err) MUST_CHECK;

#endif
