// recompute.h - a figure computed again from the files that it came from.
#ifndef LOCKSTEP_RESULTS_RECOMPUTE_H
#define LOCKSTEP_RESULTS_RECOMPUTE_H

#include "base/error.h"
#include "results/figures.h"

typedef struct recomputed {
    double value;     // NAN when there is nothing to compute this figure from
    double tolerance; // relative, for rounding
    char how[128];    // "6430 of 10000 right"
    const char *file; // its name in the stage's folder; NULL without
    char recorded[SHA256_TEXT_BYTES], found[SHA256_TEXT_BYTES]; // content hashes of the file
} recomputed;

// Fails with STATUS_INPUT when the file is missing or damaged; a file that is whole but not the
// recorded one is no failure: compare the hashes.
status recompute(const figure *f, recomputed *again, error *err) MUST_CHECK;

#endif
