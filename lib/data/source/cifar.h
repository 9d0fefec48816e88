// SPDX-License-Identifier: MIT
// cifar.h - CIFAR-10 and CIFAR-100 in their "binary version": records of label bytes and 3,072
// pixel bytes (the red, green and blue planes of 32 x 32). A. Krizhevsky, "Learning multiple layers
// of features from tiny images", 2009.
//
// The members of both are pinned by SHA-256. The hashes of CIFAR-10 were checked against the data;
// those of CIFAR-100 come from other projects' publications, and only a fetch will confirm them.
// CIFAR-100 has two label bytes, coarse and fine; the fine one is used.
#ifndef LOCKSTEP_DATA_SOURCE_CIFAR_H
#define LOCKSTEP_DATA_SOURCE_CIFAR_H

#include "base/error.h"
#include "base/log.h"
#include "data/source/members.h"
#include "data/source/raw_dataset.h"

// Returns the member set of "cifar10" or "cifar100"; NULL for any other name.
const member_set *cifar_find(const char *name);
// The names of its classes.
const char *const *cifar_class_names(const member_set *set, size_t *count);

// Reads both splits of a set from cifar_find out of `sources`, as members_read does. Call
// raw_dataset_release in any case.
status cifar_read(const member_set *set, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) MUST_CHECK;

#endif
