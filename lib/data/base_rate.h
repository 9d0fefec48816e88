// SPDX-License-Identifier: MIT
// base_rate.h - the accuracy of always answering the commonest class, which needs no model: an
// accuracy says something only if it is higher.
#ifndef LOCKSTEP_DATA_BASE_RATE_H
#define LOCKSTEP_DATA_BASE_RATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct base_rate {
    int label;           // of the commonest class; of several, the first
    int64_t samples, of; // of that class, and in all
} base_rate;

// Finds it from the number of samples of each class; `of` is 0 if there are none.
base_rate base_rate_find(const int64_t *counts, int classes);
// Returns samples / of.
double base_rate_share(const base_rate *b);
// Is the accuracy right / of certainly higher: does its 95 % interval (Wilson's) lie above?
bool base_rate_is_beaten(const base_rate *b, int64_t right);

#endif
