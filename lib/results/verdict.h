// verdict.h - what repeated measurements say about a difference, in time or in accuracy: the only
// place where that is decided. verdict_text.h words it.
//
// Two questions are asked, each at the 5 % level: is there a difference (two-sided), and is it
// surely within a margin (two one-sided tests)? A wide interval answers neither: undecided.
#ifndef LOCKSTEP_RESULTS_VERDICT_H
#define LOCKSTEP_RESULTS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/statistics.h"

// A verdict on time takes so many executions of each side; from so many rounds on they are pairs.
enum { VERDICT_EXECUTIONS = 3, VERDICT_ROUNDS = 5, VERDICT_SEEDS = 3 };

// "The same": times within ±3 % of each other, accuracies within ±0.5 points.
#define VERDICT_TIME_MARGIN     0.03
#define VERDICT_ACCURACY_MARGIN 0.005

typedef enum verdict_kind {
    VERDICT_NONE,      // `lack` says why
    VERDICT_IDENTICAL, // accuracy: the same model, seed by seed; no test is needed
    VERDICT_DIFFERENT, // the sign of the difference says in which direction
    VERDICT_SMALL,     // different, and surely within the margin
    VERDICT_SAME,      // surely within the margin; whether it is 0 is not known
    VERDICT_UNDECIDED, // neither different nor the same
    VERDICT_COST       // time, simulated: what it costs here, and nothing about the method
} verdict_kind;

typedef enum verdict_lack {
    LACK_NOTHING,
    LACK_LIKENESS,   // time: the two are not like for like
    LACK_EXECUTIONS, // time: fewer than VERDICT_EXECUTIONS of a side
    LACK_QUIET,      // time: the machine was busy with something else (machine_use.h)
    LACK_TURNS,      // time: the executions were not made in turns
    LACK_TEST_DATA,  // accuracy: other test data, or none
    LACK_SEEDS       // accuracy: no seed in common with predictions, nor three
} verdict_lack;

typedef enum verdict_test {
    TEST_NONE,
    TEST_WELCH,  // t-test on logarithms of medians of executions
    TEST_ROUNDS, // the same, paired by round
    TEST_SEEDS,  // t-test, paired by seed
    TEST_SAMPLES // McNemar's, on the samples of one seed: about two models, not about the method
} verdict_test;

typedef struct verdict {
    verdict_kind kind;
    verdict_lack lack;
    verdict_test test;
    double p;        // of no difference, two-sided; NAN without a test
    double adjusted; // the same by Holm's correction over `tests` verdicts; what decides
    size_t tests;    // verdicts with a test that were given together; 1: this one alone
    bool within;     // surely within the margin: two one-sided tests, uncorrected
    // Executions of the subject and of the baseline, and how many of both were disturbed; for
    // accuracy the seeds or samples of each.
    size_t subject, baseline, busy;
} verdict;

// How the executions of two sides followed each other.
typedef enum turns {
    TURNS_ROUNDS, // value i of both sides was measured in round i
    TURNS_MIXED,
    TURNS_APART // rather one side after the other: a change of the machine looks like a difference
} turns;

// The executions of one side that count, in the order in which they were made.
typedef struct timed_side {
    const double *log_seconds; // logarithms of the time of each
    size_t count;
    size_t busy; // how many of them on a busy machine
} timed_side;

// The difference subject - baseline of values, by the test that their order allows: of n >= 5
// rounds by pairs, else Welch's.
mean_estimate verdict_difference(const double *subject, size_t subjects, const double *baseline,
                                 size_t baselines, turns order, verdict_test *test);

// How many times as fast the subject is: *ratio with a 95 % interval, which takes two values of
// each side. The verdict is that of this comparison alone; `simulated` where a time of either side
// is.
verdict verdict_on_time(const timed_side *subject, const timed_side *baseline, turns order,
                        bool simulated, estimate *ratio);

// The accuracies of n seeds that both sides have, fractions of test sets of `samples`; below 1:
// unknown. *difference is subject - baseline.
verdict verdict_on_seeds(const double *subject, const double *baseline, size_t n, int64_t samples,
                         estimate *difference);

// Two models on the same samples, of which some are right by the subject or by the baseline alone.
// The value of *difference is the caller's.
verdict verdict_on_models(int64_t only_subject, int64_t only_baseline, int64_t samples,
                          estimate *difference);

// No verdict, and why.
verdict verdict_none(verdict_lack lack);
verdict verdict_identical(void);

// Is it about two models of one seed, and not about what made them?
static inline bool verdict_is_of_models(const verdict *v) {
    return v->test == TEST_SAMPLES;
}
static inline bool verdict_is_difference(const verdict *v) {
    return v->kind == VERDICT_DIFFERENT || v->kind == VERDICT_SMALL;
}

// Verdicts of one table are corrected together (Holm), those on time and those on accuracy each:
// where nothing differs, at most one family of verdicts in twenty has one that says so. Those
// without a test do not count. The two one-sided tests are not corrected: "the same" is said by
// margin, at 5 % each.
void verdict_correct(verdict *const *family, size_t count);

#endif
