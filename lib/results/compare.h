// SPDX-License-Identifier: MIT
// compare.h - compares two experiments: relative speed, difference in accuracy, and the verdict on
// both (verdict.h).
//
// Times are compared only like for like (like_for_like.h), in every use: a comparison with a
// baseline, a step of a ladder, a variant of a study, a row of a reproduction. Within a plan, the
// keys that it varies may differ. Without a plan, one setting may differ between runs that are
// alike in everything else; the verdict names it.
//
// If runs of both sides took turns together (timed_arms.h), the times per epoch are compared by
// their turns, whatever the machine and the build that the runs were made with. Otherwise, and for
// the total, whole executions are.
#ifndef LOCKSTEP_RESULTS_COMPARE_H
#define LOCKSTEP_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/like_for_like.h"
#include "results/seed_group.h"
#include "results/statistics.h"
#include "results/turn_evidence.h"
#include "results/verdict.h"

typedef struct comparison {
    const seed_group *subject, *baseline;
    reason_list unlike; // why times are not compared; empty if they are
    // The key of the only setting that differs; NULL: none, or a plan varies it.
    const char *setting;
    // In which runs of both sides took turns: the times per epoch come from it. NULL: they come
    // from whole executions.
    const struct timed_arms *timing;
    verdict time, accuracy;
    estimate speedup;       // seconds per epoch: baseline / subject
    estimate beside;        // the same of all rounds, where MISSING_QUIET or _DEMAND: no evidence
    estimate seconds;       // per epoch: subject - baseline
    estimate total;         // of the whole training: subject - baseline
    interval spread;        // if `speedup` has no interval: from slowest to fastest epochs
    bool simulated;         // one of the times is
    const run *crowded;     // the simulated run with the most ranks; NULL if there is none
    reason_list arithmetic; // how it differed; empty if it was the same
    bool identical;         // the same seeds, and from each the same model, bit for bit
    // Of means: subject - baseline, a fraction, with 95 % over the pairs of the test. NAN if not
    // comparable.
    estimate accuracy_difference;
} comparison;

// Compares the times of two arms that took turns, by the rounds that are evidence on them
// (turn_evidence.h): sets `time`, `speedup` and `beside`. `samples`: of an epoch, subject /
// baseline.
void compare_arms(const turn_evidence *e, size_t subject, size_t baseline, double samples,
                  comparison *c);

// `varied` may be NULL; it is not kept.
status compare(const seed_group *subject, const seed_group *baseline, const varied_keys *varied,
               comparison *c, error *err) MUST_CHECK;
void comparison_release(comparison *c);

// Corrects the verdicts of comparisons that are shown together, time and accuracy separately
// (verdict_correct).
void compare_together(comparison *const *family, size_t count);
// The same for the comparisons of one table.
void compare_table(comparison *table, size_t count);

#endif
