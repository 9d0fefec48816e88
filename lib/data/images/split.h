// SPDX-License-Identifier: MIT
// split.h - the choice of test samples, class by class.
#ifndef LOCKSTEP_DATA_IMAGES_SPLIT_H
#define LOCKSTEP_DATA_IMAGES_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Chooses the test samples of each class of n samples: n · fraction, rounded, but at least 1 and at
// most n - 1. These are the ones with the smallest SHA-256 of "SEED/CLASS/KEY", where CLASS is the
// class's name and KEY that of the sample in it (keys[i], a file's name). So neither a folder's
// order nor the other classes matter, and adding a sample moves few others. `fraction` is above 0
// and below 1. A class with fewer than 2 samples is STATUS_INPUT.
status split_choose(const uint32_t *labels, const char *const *keys, size_t count,
                    const char *const *class_names, double fraction, uint64_t seed, bool *test,
                    error *err) MUST_CHECK;

#endif
