// split.h - which samples are kept for testing, class by class.
#ifndef LOCKSTEP_DATA_IMAGES_SPLIT_H
#define LOCKSTEP_DATA_IMAGES_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Chooses of each class of n samples those for testing: n · fraction, rounded, but at least 1 and
// at most n - 1. They are the ones with the smallest SHA-256 of "SEED/CLASS/KEY", where CLASS is
// the name of the class and KEY that of the sample in it (keys[i], a file's name): so neither the
// order of a folder nor the other classes matter, and a sample that is added moves few others.
// `fraction`: above 0 and below 1. A class with fewer than 2 samples is STATUS_INPUT.
status split_choose(const uint32_t *labels, const char *const *keys, size_t count,
                    const char *const *class_names, double fraction, uint64_t seed, bool *test,
                    error *err) MUST_CHECK;

#endif
