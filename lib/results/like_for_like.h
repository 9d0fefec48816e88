// like_for_like.h - what two executions must have in common before their times stand side by side.
//
// One table of conditions serves two questions: may the times of two experiments be compared, and
// do two executions of one run count together (pool.h)?
#ifndef LOCKSTEP_RESULTS_LIKE_FOR_LIKE_H
#define LOCKSTEP_RESULTS_LIKE_FOR_LIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/run.h"
#include "words/words.h"

// The keys of an experiment that a plan varies: that they differ is the point of a comparison
// within it. Strategy, ranks and V always may. The keys are not copied.
typedef struct varied_keys {
    const char **keys;
    size_t count;
} varied_keys;

// Why the times of two runs may not be compared, every reason of it; free() it. NULL when they may.
// `varied` may be NULL: nothing.
status like_for_like(const run *a, const run *b, const varied_keys *varied, language l,
                     char **reasons, error *err) MUST_CHECK;

// Do the times of two executions of one run count together? Of those made alike only the program
// and the machine agree.
bool like_executed(const run *a, const run *b);
// The same of two runs that repeat one experiment, of which one may have no times.
bool like_repeated(const run *a, const run *b);
bool like_made(const run *a, const run *b);
// Appends in what they differ, for people to read: why the times of `a` do not count beside b's.
status like_append_executed(const run *a, const run *b, language l, text *out) MUST_CHECK;

// In what the arithmetic of a step differs; free() it. NULL when it is the same.
status like_arithmetic(const run *a, const run *b, language l, char **difference,
                       error *err) MUST_CHECK;

// Appends in what a run did other work than what a published figure is about: "2 of 25 epochs; data
// synthetic vs cifar10". Nothing where it is the same, or nobody said (epochs below 1, data "").
void like_append_published(const run *r, int64_t epochs, const char *dataset, language l,
                           text *out);

// Why a run has no times, about its name.
const char *like_no_time(const run *r);

#endif
