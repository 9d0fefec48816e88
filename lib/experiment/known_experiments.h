// known_experiments.h - the experiment files beside the two of a ladder: a rung may be one of them.
#ifndef LOCKSTEP_EXPERIMENT_KNOWN_EXPERIMENTS_H
#define LOCKSTEP_EXPERIMENT_KNOWN_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "experiment/experiment.h"
#include "experiment/published.h"

typedef struct known_experiments {
    experiment *items; // as in their files, without any --set
    size_t count, capacity;
    published published; // about them
} known_experiments;

// Reads the experiment files `a` and `b`, then all others in their folders, by name, and the claims
// about them. What is no
// experiment there is passed over.
status known_experiments_read(known_experiments *k, const char *a, const char *b,
                              error *err) MUST_CHECK;
void known_experiments_release(known_experiments *k);

// The experiment that `e` is, in all that a published figure is about (factors_find_published), or
// NULL. With `any_epochs` it may train for longer or shorter than `e`. Of several, one with
// published figures comes first, then the one that differs from `e` in the fewest keys, then the
// first one read.
const experiment *known_experiments_find(const known_experiments *k, const experiment *e,
                                         bool any_epochs);

#endif
