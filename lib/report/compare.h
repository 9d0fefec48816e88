// compare.h - what may be said about two experiments side by side, and what may not.
//
// A speed-up is given only between runs that did the same work on the same machine; else there is a
// reason instead.
#ifndef LOCKSTEP_REPORT_COMPARE_H
#define LOCKSTEP_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "report/messages.h"
#include "report/run.h"
#include "report/statistics.h"

// Runs that differ in nothing but the seed: repeats of one experiment, executed alike.
typedef struct group {
    const char *name; // of the experiment where no other group has it, else of the first run
    const run **runs;
    size_t count;
} group;

// Groups in the order of their first runs. Free with groups_free.
status groups_make(const run_list *list, group **groups, size_t *count, error *err) MUST_CHECK;
void groups_free(group *groups, size_t count);

// Means over the runs of a group with their sample deviations and 95 % intervals (Student's t); NAN
// where a run lacks the value or there are too few runs.
typedef struct group_summary {
    double accuracy, accuracy_deviation, seconds, seconds_deviation; // seconds an epoch
    interval accuracy_range, seconds_range;
    bool simulated;
} group_summary;
status group_summarize(const group *g, group_summary *s, error *err) MUST_CHECK;

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
    bool simulated;             // one of the times is
    char *arithmetic;           // in what the arithmetic differed; NULL when it was the same
    bool identical;             // the same model bits, seed by seed
    double accuracy_difference; // of means: subject - baseline, a fraction; NAN when not comparable
    accuracy_test test;
    double p;     // NAN without a test
    size_t pairs; // seeds or samples behind it
} comparison;

status compare(const group *subject, const group *baseline, language l, comparison *c,
               error *err) MUST_CHECK;
void comparison_release(comparison *c);

#endif
