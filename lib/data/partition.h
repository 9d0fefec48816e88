// SPDX-License-Identifier: MIT
// partition.h - which samples of a dataset each virtual shard has.
//
// Samples are permuted by shard_seed; permuted position p goes to shard p mod V, at place p / V. A
// dataset read from shard files and one partitioned in memory from the unsharded file agree in
// every sample of every shard, so both train the same model.
#ifndef LOCKSTEP_DATA_PARTITION_H
#define LOCKSTEP_DATA_PARTITION_H

#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/holdout.h"

typedef struct partition {
    int shards;
    uint32_t **sample; // [shards][size[v]]: indices into the dataset
    uint32_t *size;    // non-increasing
} partition;

// Divides the samples that are not in `left` (NULL: all samples) among `shards` shards. For shard
// files, V and seed must be those of the files (otherwise STATUS_INPUT, with both in the message).
// More shards than samples: STATUS_USAGE.
status partition_init(partition *p, const dataset *data, const holdout *left, int shards,
                      uint64_t shard_seed, error *err) MUST_CHECK;
void partition_release(partition *p);

#endif
