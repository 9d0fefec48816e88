// SPDX-License-Identifier: MIT
// known_experiments.h - the other experiment files in the folders of a ladder's two: a rung may be
// one of them.
#ifndef LOCKSTEP_EXPERIMENT_KNOWN_EXPERIMENTS_H
#define LOCKSTEP_EXPERIMENT_KNOWN_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "experiment/experiment.h"
#include "experiment/published.h"

typedef struct known_experiments {
    experiment *items; // as in their files, without --set
    size_t count, capacity;
    published published; // claims about them
} known_experiments;

// Reads the experiment files `a` and `b`, then all others in their folders, by name, and the claims
// about them. Skips files there that are not experiments.
status known_experiments_read(known_experiments *k, const char *a, const char *b,
                              error *err) MUST_CHECK;
void known_experiments_release(known_experiments *k);

// Returns the experiment that equals `e` for the purpose of published figures
// (factors_find_published), or NULL. With `any_epochs` the number of epochs may differ. Of several,
// prefers one with published figures, then the one with the fewest keys that differ from `e`, then
// the first one read.
const experiment *known_experiments_find(const known_experiments *k, const experiment *e,
                                         bool any_epochs);

#endif
