// SPDX-License-Identifier: MIT
// origin.h - traces a stage's inputs from its manifest to the manifests of the stages before it,
// which lie next to the files that they wrote.
#ifndef LOCKSTEP_RESULTS_ORIGIN_H
#define LOCKSTEP_RESULTS_ORIGIN_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/run.h"

// Returns the folder of an input (an entry of `inputs`) of the manifest in `folder`, and the
// manifest there. *root is NULL if there is none: a pipe, a file from elsewhere, a deleted folder.
// Free both.
status origin_of(const char *folder, const yaml_node *input, char **producer, yaml_node **root,
                 error *err) MUST_CHECK;

// Returns `path` as seen from `folder`, without "." and "..", for people to read: with linked
// folders it may lead elsewhere. free() it.
char *origin_tidy_path(const char *folder, const char *path) MUST_CHECK;

// Content hashes of the training and test data of a run. Shards count as the file that they were
// cut from, so that sharded and unsharded input have equal hashes. "" if unknown.
const char *origin_train_data(const run *r);
const char *origin_test_data(const run *r);

// Counts those of the test images of a run that are among its training images, as the manifests
// record it (data/source/raw_dataset.h). 0: none, or unknown; *samples is then not set.
status origin_repeated_images(const run *r, int64_t *count, int64_t *samples,
                              error *err) MUST_CHECK;

#endif
