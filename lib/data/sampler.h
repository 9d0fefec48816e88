// sampler.h - which samples each virtual shard visits in each step of each epoch.
//
// In epoch e, shard v visits its samples in a random order keyed by (seed, e, v): RANDOM_ORDER with
// layer = v. Each step takes the next global_batch / V samples of every shard; the last step of an
// epoch takes what is left, so some shards may then give fewer samples, or none. Every sample comes
// exactly once an epoch: no padding, no dropped remainder. In every step the counts do not grow
// with v.
//
// Threads: orders are computed by sampler_begin_epoch and do not change after it, so any number of
// threads may call sampler_step. Two epochs are held at a time: loaders may run ahead into epoch e
// + 1 while epoch e is still read.
#ifndef LOCKSTEP_DATA_SAMPLER_H
#define LOCKSTEP_DATA_SAMPLER_H

#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"

enum { SAMPLER_EPOCHS = 2 };

typedef struct sampler {
    const deal *deal; // not owned; must outlive the sampler
    uint64_t seed;
    uint32_t per_step; // samples of a shard in a full step
    uint64_t steps;    // of an epoch
    uint32_t *orders;  // [SAMPLER_EPOCHS][total]: the shards behind each other
    size_t *starts;    // [shards]: where a shard begins in an order
    size_t total;
    int64_t held[SAMPLER_EPOCHS]; // which epoch each order is of; -1: none yet
} sampler;

// STATUS_USAGE unless the number of shards divides `global_batch`. Allocates all that will ever be
// needed.
status sampler_init(sampler *s, const deal *d, int global_batch, uint64_t seed,
                    error *err) MUST_CHECK;
// A zeroed struct is fine.
void sampler_release(sampler *s);

uint64_t sampler_steps_per_epoch(const sampler *s);

// Computes the orders of `epoch`, in the place of those of epoch - 2, which nobody may still read.
// Does nothing when they are held already. One thread at a time.
void sampler_begin_epoch(sampler *s, uint32_t epoch);

// The samples (indices into the dataset) of shard `shard` in step `step` (from 0, in the epoch) of
// an epoch that was begun. Returns how many there are; 0 past the end of the shard. *samples stays
// valid as long as the epoch is held.
int sampler_step(const sampler *s, uint32_t epoch, uint64_t step, int shard,
                 const uint32_t **samples);

#endif
