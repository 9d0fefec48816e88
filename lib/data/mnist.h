// mnist.h - MNIST (Y. LeCun, C. Cortes, C. Burges) and Fashion-MNIST (H. Xiao, K. Rasul, R.
// Vollgraf, 2017): four IDX files each.
//
// MNIST is pinned by the SHA-256 of the uncompressed files, so that any gzip of them will do. Of
// Fashion-MNIST only the hashes of the published .gz files are known here: those are pinned, and
// uncompressed files are checked by size and structure, with a warning.
#ifndef LOCKSTEP_DATA_MNIST_H
#define LOCKSTEP_DATA_MNIST_H

#include "base/error.h"
#include "base/log.h"
#include "data/members.h"
#include "data/raw_dataset.h"

typedef struct mnist_kind mnist_kind;

// "mnist" or "fashion-mnist"; NULL for any other name.
const mnist_kind *mnist_find(const char *name);

// What it is published as.
const member_set *mnist_members(const mnist_kind *kind);

// Reads both splits from `sources` as members_read does; raw_dataset_release whatever happens.
status mnist_read(const mnist_kind *kind, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) MUST_CHECK;

#endif
