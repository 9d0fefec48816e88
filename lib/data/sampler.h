// SPDX-License-Identifier: MIT
// sampler.h - the samples of each virtual shard, by epoch and step.
//
// In epoch e, shard v visits its samples in a random order keyed by (seed, e, v): RANDOM_ORDER with
// layer = v. Each step takes the next global_batch / V samples of every shard; the last step of an
// epoch takes the rest, to which some shards may contribute fewer samples, or none. Every sample
// comes exactly once per epoch, without padding. In every step the counts are non-increasing in v.
// With sampler_drop_last an epoch ends before the first step that is not full, in any shard; the
// samples left out differ from epoch to epoch.
//
// Threads: sampler_begin_epoch computes the orders, which do not change afterwards, so any number
// of threads may call sampler_step. Two epochs are held at a time: loaders may run ahead into epoch
// e + 1 while epoch e is still being read.
#ifndef LOCKSTEP_DATA_SAMPLER_H
#define LOCKSTEP_DATA_SAMPLER_H

#include <stdint.h>

#include "base/error.h"
#include "data/partition.h"

enum { SAMPLER_EPOCHS = 2 };

typedef struct sampler {
    const partition *partition; // not owned; must outlive the sampler
    uint64_t seed;
    uint32_t per_step; // samples of a shard in a full step
    uint64_t steps;    // per epoch
    uint32_t *orders;  // [SAMPLER_EPOCHS][total]: the shards one after another
    size_t *starts;    // [shards]: a shard's offset in an order
    size_t total;
    int64_t held[SAMPLER_EPOCHS]; // the epoch of each order; -1: none yet
} sampler;

// STATUS_USAGE unless the number of shards divides `global_batch`. Allocates everything up front.
status sampler_init(sampler *s, const partition *p, int global_batch, uint64_t seed,
                    error *err) MUST_CHECK;
// A zeroed struct is fine.
void sampler_release(sampler *s);

// Leaves out the steps of an epoch that are not full: samples / global_batch of them remain,
// rounded down. STATUS_INPUT if none does.
status sampler_drop_last(sampler *s, error *err) MUST_CHECK;

uint64_t sampler_steps_per_epoch(const sampler *s);

// Computes the orders of `epoch`, which replace those of epoch - 2; no thread may still read these.
// Does nothing if the epoch is already held. One thread at a time.
void sampler_begin_epoch(sampler *s, uint32_t epoch);

// Finds the samples (indices into the dataset) of shard `shard` in step `step` (from 0, within the
// epoch) of an epoch that was begun. Returns their number; 0 past the end of the shard. *samples
// stays valid as long as the epoch is held.
int sampler_step(const sampler *s, uint32_t epoch, uint64_t step, int shard,
                 const uint32_t **samples);

#endif
