// SPDX-License-Identifier: MIT
// leader.h - which of several experiments leads, in time or in accuracy, and which others certainly
// come after it.
//
// The leader has the best figure, and each other experiment is compared with it; the verdicts are
// corrected together (Holm). Since the same figures chose the leader, those that differ from it do
// so a little too often: the answer is all that cannot be told from it.
#ifndef LOCKSTEP_RESULTS_LEADER_H
#define LOCKSTEP_RESULTS_LEADER_H

#include <stddef.h>

#include "base/error.h"
#include "results/compare.h"

typedef struct leader {
    size_t at;           // its number; `count` if there is none, and then no comparison either
    comparison *against; // of each experiment with the leader; that of the leader itself is empty
    size_t count;
} leader;

// The one with the shortest time among the first and those that have a verdict on time against it.
// `with_first`: the comparison of each with the first, NULL for the first itself. Returns `count`
// if there is no such verdict.
size_t leader_in_time(const comparison *const *with_first, size_t count);
// The one with the highest accuracy; `count` if none is known. `accuracies`: NAN if unknown.
size_t leader_in_accuracy(const double *accuracies, size_t count);

// Compares all groups with number `at`.
status leader_compare(const seed_group *const *groups, size_t count, size_t at,
                      const varied_keys *varied, leader *l, error *err) MUST_CHECK;
void leader_release(leader *l);

typedef enum standing {
    STANDING_FIRST,
    STANDING_LEVEL,  // it cannot be told from the leader
    STANDING_BEHIND, // it certainly comes after
    STANDING_UNKNOWN // there is no verdict
} standing;

// Times of more ranks than cores have a place, too, on this machine: by their intervals.
standing leader_standing_in_time(const leader *l, size_t i);

#endif
