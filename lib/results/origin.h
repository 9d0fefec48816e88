// origin.h - where a stage's inputs came from: from a manifest to the manifests of the stages
// before it, which lie beside the files that they wrote.
#ifndef LOCKSTEP_RESULTS_ORIGIN_H
#define LOCKSTEP_RESULTS_ORIGIN_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/run.h"

// The folder of an input (an entry of `inputs`) of the manifest in `folder`, and the manifest
// there. *root is NULL when there is none: a pipe, a file given by hand, a folder that is gone.
// Free both.
status origin_of(const char *folder, const yaml_node *input, char **maker, yaml_node **root,
                 error *err) MUST_CHECK;

// `path` as seen from `folder`, without "." and "..", for people to read: it may lead elsewhere
// where folders are links. free() it.
char *origin_tidy_path(const char *folder, const char *path, error *err) MUST_CHECK;

// The last part of a path.
const char *origin_base_name(const char *path);

// Content hashes of the data that a run learnt from and was tested on. Shards count as the file
// that they were cut from, so that sharded and unsharded input agree. "" when unknown.
const char *origin_train_data(const run *r);
const char *origin_test_data(const run *r);

#endif
