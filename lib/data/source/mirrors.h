// mirrors.h - where data sets are published: a small file of addresses (share/mirrors.yaml), which
// users extend. What is fetched is checked by pins that the tools hold, wherever it comes from.
#ifndef LOCKSTEP_DATA_SOURCE_MIRRORS_H
#define LOCKSTEP_DATA_SOURCE_MIRRORS_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"

typedef struct mirrors {
    yaml_node *root;
    const char **urls; // in the order of the file; of `root`
    size_t count;      // 0: the file says nothing of the data set
} mirrors;

// The addresses of `dataset` in the file at `path`; NULL: in $LOCKSTEP_MIRRORS, else in the file
// that came with the tools (../share/lockstep/mirrors.yaml), else none. STATUS_INPUT, with line and
// column, for a file that is not one or that holds an address that is no URL. mirrors_release
// whatever happens.
status mirrors_read(mirrors *m, const char *path, const char *dataset, error *err) MUST_CHECK;
void mirrors_release(mirrors *m);

#endif
