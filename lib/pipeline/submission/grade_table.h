// SPDX-License-Identifier: MIT
// grade_table.h - many verified submissions, and their table.
#ifndef LOCKSTEP_PIPELINE_SUBMISSION_GRADE_TABLE_H
#define LOCKSTEP_PIPELINE_SUBMISSION_GRADE_TABLE_H

#include "pipeline/submission/handed_in.h"
#include "pipeline/submission/verify.h"

typedef struct grading {
    verification *items;
    size_t count;
    const handed_in *in;
    words names; // of the folders below ARTIFACTS/verified
    uint64_t choice;
} grading;

// "refused", or the outcome of all checks.
const char *grade_verdict(const verification *v);

// Returns the next submission after `from` that has a trace of `v`; g->count if there is none.
size_t grade_find_copy(const grading *g, const verification *v, size_t from);

// Prints verdict, submission, author, accuracy and what was found of each, in 100 columns, and then
// what was not graded.
void grade_print_rows(const grading *g);

#endif
