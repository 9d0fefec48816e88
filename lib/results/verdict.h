// SPDX-License-Identifier: MIT
// verdict.h - verdicts on the difference between repeated measurements, in time or in accuracy. All
// verdicts are decided here; templates word them (share/report/en/verdict.md, report/notes.h).
//
// Two questions are tested, each at the 5 % level: is there a difference (two-sided), and is it
// within a margin (two one-sided tests)? A wide interval answers neither: undecided.
#ifndef LOCKSTEP_RESULTS_VERDICT_H
#define LOCKSTEP_RESULTS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/statistics.h"

// The executions of two arms that a verdict on time needs; the seeds of each side that one on
// accuracy needs.
enum { VERDICT_EXECUTIONS = 3, VERDICT_SEEDS = 3 };

// "The same": times within ±3 % of each other, accuracies within ±0.5 points.
#define VERDICT_TIME_MARGIN     0.03
#define VERDICT_ACCURACY_MARGIN 0.005

typedef enum verdict_kind {
    VERDICT_NONE,      // `missing` names the condition that is not met
    VERDICT_IDENTICAL, // accuracy: the same model, seed by seed; no test is needed
    VERDICT_DIFFERENT, // the sign of the difference gives the direction
    VERDICT_SMALL,     // different, but certainly within the margin
    VERDICT_SAME,      // certainly within the margin; whether it is 0 is unknown
    VERDICT_UNDECIDED, // neither different nor the same
    VERDICT_COST       // time, simulated: the cost on this machine, no statement on the method
} verdict_kind;

typedef enum verdict_missing {
    MISSING_NOTHING,
    MISSING_LIKE_FOR_LIKE, // time: the two are not like for like
    MISSING_TURNS,         // time: the two took no turns together (turn_times.h)
    MISSING_EXECUTIONS,    // time: fewer than VERDICT_EXECUTIONS in which they took turns
    MISSING_QUIET,         // time: the two load the machine unlike, and others kept it busy
    MISSING_DEMAND,        // time: the same, and whether others wanted it is not known
    MISSING_TEST_DATA,     // accuracy: different test data, or none
    MISSING_SEEDS // accuracy: no common seed with predictions, and fewer than three common seeds
} verdict_missing;

typedef enum verdict_test {
    TEST_NONE,
    TEST_TURNS,  // t-test on the executions of arms that took turns (turn_times.h)
    TEST_SEEDS,  // t-test, paired by seed
    TEST_APART,  // Welch's t-test on the seeds of both sides, which are not the same
    TEST_SAMPLES // McNemar's, on the samples of one seed: about two models, not about the method
} verdict_test;

typedef struct verdict {
    verdict_kind kind;
    verdict_missing missing;
    verdict_test test;
    double p;        // of the test for a difference, two-sided; NAN without a test
    double adjusted; // after Holm's correction over `tests` verdicts; this one decides
    size_t tests;    // verdicts with a test that were corrected together; 1: this one alone
    bool within;     // certainly within the margin: two one-sided tests, uncorrected
    // Executions of the subject and of the baseline; for accuracy, the seeds or samples of each.
    size_t subject, baseline;
    mean_estimate difference; // on seeds: subject - baseline; its error is NAN otherwise
} verdict;

// Judges two arms that took turns: `longer` is the difference of the logarithms of their times,
// subject - baseline, over so many executions. Sets the ratio of speeds, subject to baseline, with
// a 95 % interval. The verdict is on this comparison alone; `simulated`: a time of either side is.
verdict verdict_on_turns(const mean_estimate *longer, size_t executions, bool simulated,
                         estimate *ratio);

// Compares the accuracies of n seeds that both sides have, fractions of `samples` test samples;
// below 1: unknown. *difference is subject - baseline.
verdict verdict_on_seeds(const double *subject, const double *baseline, size_t n, int64_t samples,
                         estimate *difference);

// The same for seeds that are not those of the other side, at least VERDICT_SEEDS of each.
verdict verdict_on_other_seeds(const double *subject, size_t subjects, const double *baseline,
                               size_t baselines, int64_t samples, estimate *difference);

// The seeds of each side with which a verdict on seeds that is undecided will probably be decided:
// the power computation of statistics_sample_size with a power of 80 %, if the mean and the
// deviation of the differences stay as they are. The difference is found at the level of its
// correction, 5 % / tests; or it is found to lie within the margin, by two one-sided tests of 5 %,
// each with a power of 90 %. The smaller number counts, and more than there are now. After few
// seeds the deviation itself is uncertain, so it is no more than an order of magnitude. 0: it is
// not such a verdict, or more than 1000 would be needed.
size_t verdict_seeds_needed(const verdict *v);

// Compares two models on the same samples, by those that only the subject or only the baseline got
// right. Sets only the range of *difference; the value is the caller's.
verdict verdict_on_models(int64_t only_subject, int64_t only_baseline, int64_t samples,
                          estimate *difference);

// No verdict, because that condition is not met.
verdict verdict_none(verdict_missing missing);
verdict verdict_identical(void);

// Is the verdict on two models of one seed, and not on the methods that made them?
static inline bool verdict_is_of_models(const verdict *v) {
    return v->test == TEST_SAMPLES;
}
static inline bool verdict_is_difference(const verdict *v) {
    return v->kind == VERDICT_DIFFERENT || v->kind == VERDICT_SMALL;
}

// Corrects the verdicts of one table together (Holm); call it for time and for accuracy separately.
// If nothing differs, at most one family of verdicts in twenty reports a difference. Verdicts
// without a test do not count. The two one-sided tests are not corrected: each margin is tested at
// 5 %.
void verdict_correct(verdict *const *family, size_t count);

#endif
