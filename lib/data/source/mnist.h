// SPDX-License-Identifier: MIT
// mnist.h - MNIST (Y. LeCun, C. Cortes, C. Burges) and Fashion-MNIST (H. Xiao, K. Rasul, R.
// Vollgraf, 2017): four IDX files each.
//
// MNIST is pinned by the SHA-256 of the uncompressed files, so any gzip of them will do. Of
// Fashion-MNIST only the hashes of the published .gz files are available: these are pinned, and
// uncompressed files are checked by size and structure, with a warning.
#ifndef LOCKSTEP_DATA_SOURCE_MNIST_H
#define LOCKSTEP_DATA_SOURCE_MNIST_H

#include "base/error.h"
#include "base/log.h"
#include "data/source/members.h"
#include "data/source/raw_dataset.h"

// Returns the member set of "mnist" or "fashion-mnist"; NULL for any other name.
const member_set *mnist_find(const char *name);
// The names of its classes.
const char *const *mnist_class_names(const member_set *set, size_t *count);

// Reads both splits of a set from mnist_find out of `sources`, as members_read does. Call
// raw_dataset_release in any case.
status mnist_read(const member_set *set, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) MUST_CHECK;

#endif
