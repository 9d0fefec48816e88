// compare.h - two experiments side by side: how many times as fast, how much more accurate, and
// the verdict on both (verdict.h).
//
// Times are compared only like for like (like_for_like.h), whoever asks: a comparison with a
// baseline, a step of a ladder, a variant of a study, a row of a reproduction. Within a plan, what
// it varies may differ.
#ifndef LOCKSTEP_RESULTS_COMPARE_H
#define LOCKSTEP_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/group.h"
#include "results/like_for_like.h"
#include "results/statistics.h"
#include "results/verdict.h"
#include "words/words.h"

typedef struct comparison {
    const group *subject, *baseline;
    // Why times are not compared, in the language of the page and for files; NULL when they are.
    char *reasons, *reasons_english;
    verdict time, accuracy;
    estimate speedup;           // seconds an epoch: baseline / subject
    estimate seconds;           // an epoch: subject - baseline
    estimate total;             // of all: subject - baseline
    size_t set_aside;           // executions on a busy machine that do not count
    interval spread;            // without an interval of `speedup`: from slowest to fastest epochs
    bool simulated;             // one of the times is
    const run *crowded;         // the simulated run of the most ranks; NULL without
    char *arithmetic;           // in what the arithmetic differed; NULL when it was the same
    bool identical;             // the same seeds, and the same model bits from each
    double accuracy_difference; // of means: subject - baseline, a fraction; NAN when not comparable
    interval accuracy_range;    // 95 %: over the pairs of the test
} comparison;

// `varied` may be NULL; nothing of it is kept.
status compare(const group *subject, const group *baseline, const varied_keys *varied, language l,
               comparison *c, error *err) MUST_CHECK;
void comparison_release(comparison *c);

// Corrects the verdicts of comparisons that stand together, on time and on accuracy each
// (verdict_correct).
status compare_together(comparison *const *family, size_t count, error *err) MUST_CHECK;
// The same of the comparisons of one table.
status compare_table(comparison *table, size_t count, error *err) MUST_CHECK;

#endif
