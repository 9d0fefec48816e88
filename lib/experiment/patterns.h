// SPDX-License-Identifier: MIT
// patterns.h - the patterns of `tensors` in two experiments, one by one.
#ifndef LOCKSTEP_EXPERIMENT_PATTERNS_H
#define LOCKSTEP_EXPERIMENT_PATTERNS_H

#include "experiment/experiment.h"

// A pattern in two experiments; its settings are NULL in the one that lacks it.
typedef struct pattern_pair {
    const char *pattern;
    const yaml_node *from, *to;
} pattern_pair;

enum { PATTERN_PAIRS_MAX = 2 * EXPERIMENT_MAX_PATTERNS };

// Lists the patterns of both in an order that agrees with both. Returns false if there is none,
// because patterns that both have are in different orders. All pointers lead into the experiments.
bool patterns_merge(const experiment *from, const experiment *to,
                    pattern_pair pairs[PATTERN_PAIRS_MAX], size_t *count);

// Are its settings different in the two?
bool patterns_differ(const pattern_pair *pair);

// Makes the list in which the k-th pattern that differs has its settings in `from` if bit k of
// `kept` is set, else those in `to`. *list is NULL if it would be empty.
void patterns_mix(const pattern_pair *pairs, size_t count, uint64_t kept, yaml_node **list);

#endif
