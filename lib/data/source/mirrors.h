// SPDX-License-Identifier: MIT
// mirrors.h - where data sets are published: a small file of addresses (share/mirrors.yaml), which
// users extend. Downloads are checked by pins in the tools, from whatever address they come.
#ifndef LOCKSTEP_DATA_SOURCE_MIRRORS_H
#define LOCKSTEP_DATA_SOURCE_MIRRORS_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"

typedef struct mirrors {
    yaml_node *root;
    const char **urls; // in file order; owned by `root`
    size_t count;      // 0: the file has no entry for the data set
} mirrors;

// Reads the addresses of `dataset` in the file at `path`. If `path` is NULL, the file is
// $LOCKSTEP_MIRRORS, else the one installed with the tools (../share/lockstep/mirrors.yaml), else
// none. STATUS_INPUT, with line and column, for an invalid file or an address that is not a URL.
// Call mirrors_release in any case.
status mirrors_read(mirrors *m, const char *path, const char *dataset, error *err) MUST_CHECK;
void mirrors_release(mirrors *m);

#endif
