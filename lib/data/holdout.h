// SPDX-License-Identifier: MIT
// holdout.h - training samples that are left out of training, to choose by: a validation set.
//
// The choice depends only on the seed and the samples' ids: those with the smallest 64 random bits
// (RANDOM_VALIDATION) are left out. The partition (partition.h) then covers the others: the order
// into which `shard_seed` permutes all samples, without those left out, is divided as usual. Shard
// files hold that order, so they serve with any validation set, and give the same partition as the
// unsharded file.
#ifndef LOCKSTEP_DATA_HOLDOUT_H
#define LOCKSTEP_DATA_HOLDOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"

typedef struct holdout {
    uint32_t count;
    bool *out; // [samples of the data set]: is it left out? NULL: nothing is, or ids are unknown
    dataset samples; // those left out, in the order of their ids; its pixels are the data set's
} holdout;

// Leaves out `count` samples of `d`, which must outlive `h`; 0: none. STATUS_INPUT if none would be
// left to train on. If only the header of `d` was read, only the count is known. A zeroed struct
// leaves nothing out; release `h` even after a failure.
status holdout_choose(holdout *h, const dataset *d, uint32_t count, uint64_t seed,
                      error *err) MUST_CHECK;
void holdout_release(holdout *h);

#endif
