// SPDX-License-Identifier: MIT
// loader.h - the batches of a run, step by step, prepared ahead by worker threads.
//
// A batch holds the samples of the local shards: all shards in one process, a rank's own shards
// under DDP. Its content depends on (sampler, step) alone, so any number of workers gives the same
// batches. Without augmentation pixels are not copied: a batch points into the dataset. With
// augmentation, the thread that prepares a batch writes the augmented images into the batch's own
// memory. If the engine holds the dataset (backend.h), it augments, and the loader is given no
// list. With mixup (mixup.h) the thread also blends them.
//
// With workers = 0, loader_next prepares the batch itself. With N workers, N threads run ahead of
// the consumer by at most 8·N batches; fewer, but at least 2·N, if augmented images would take more
// than 32 MiB.
#ifndef LOCKSTEP_DATA_LOADER_H
#define LOCKSTEP_DATA_LOADER_H

#include <stdint.h>

#include "base/error.h"
#include "base/trace.h"
#include "compute/backend.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/mixup.h"
#include "data/sampler.h"

enum { LOADER_MAX_WORKERS = 256 };

typedef struct loader_options {
    const dataset *data; // not owned; must outlive the loader, as must the sampler
    sampler *sampler;    // the loader begins its epochs; no other caller may while it is in use
    int first_shard, end_shard;    // the local shards
    int workers;                   // 0 … LOADER_MAX_WORKERS
    uint64_t first_step, end_step; // global steps (epoch · steps per epoch + step): [first, end)
    const augment_list *augment;   // not owned; NULL or empty: none. Keyed by the sampler's seed
    double mixup;                  // alpha; 0: none. Keyed likewise
    trace *trace; // gets a track per worker, a span per batch; must outlive the loader. NULL: none
} loader_options;

typedef struct loader loader;

status loader_new(const loader_options *o, loader **l, error *err) MUST_CHECK;

// Returns the batch of the next step, valid until the next call. Returns NULL after the last step.
const batch *loader_next(loader *l);

// Between the two calls no worker works: loader_rest returns when each has finished its batch. The
// consumer calls them; it takes no batch in between.
void loader_rest(loader *l);
void loader_go(loader *l);

// Stops the workers, at any time, and frees the loader. NULL is fine.
void loader_free(loader *l);

// Returns the number of samples in a batch, over all shards.
int batch_samples(const batch *b);

#endif
