// compare.h - what may be said about two experiments side by side, and what may not.
//
// A speed-up is given only between runs that did the same work on the same machine; else there is a
// reason instead. A step of a plan (planned.h) is compared with where it starts, and there what it
// changes is the point: only where and how the two ran must agree.
#ifndef LOCKSTEP_RESULTS_COMPARE_H
#define LOCKSTEP_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/group.h"
#include "results/statistics.h"
#include "words/words.h"

typedef enum accuracy_test {
    ACCURACY_NOT_TESTED, // no accuracy, other test data, or too little to test with
    ACCURACY_IDENTICAL,  // the same model
    ACCURACY_PAIRED,     // t-test over the seeds that both have
    ACCURACY_MCNEMAR     // McNemar's test on the predictions of one seed
} accuracy_test;

typedef struct comparison {
    const group *subject, *baseline;
    char *reasons;              // why no speed-up can be given; NULL when it can
    ratio speedup;              // seconds an epoch: baseline / subject
    estimate seconds;           // an epoch: subject - baseline; as a speed-up
    estimate total;             // of all: subject - baseline; as a speed-up
    bool simulated;             // one of the times is
    char *arithmetic;           // in what the arithmetic differed; NULL when it was the same
    bool identical;             // the same model bits, seed by seed
    double accuracy_difference; // of means: subject - baseline, a fraction; NAN when not comparable
    interval accuracy_range;    // 95 %: over the pairs of the test
    accuracy_test test;
    double p;     // NAN without a test
    size_t pairs; // seeds or samples behind it
} comparison;

status compare(const group *subject, const group *baseline, language l, comparison *c,
               error *err) MUST_CHECK;
status compare_step(const group *subject, const group *baseline, language l, comparison *c,
                    error *err) MUST_CHECK;
void comparison_release(comparison *c);

// Why a run has no times, about its name.
const char *compare_no_time(const run *r);

// Appends a reason, behind those that are there: `format` takes a label and two values; "" is "?".
void compare_append_reason(text *out, const char *format, const char *label, const char *a,
                           const char *b);

// Why the times of two runs may not be held against each other, every reason of it; free() it. NULL
// when they may.
status compare_reasons(const run *a, const run *b, language l, char **reasons,
                       error *err) MUST_CHECK;

#endif
