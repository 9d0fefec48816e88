// SPDX-License-Identifier: MIT
// grading.h - many verified submissions, and what is shown of them. Used within this folder only.
#ifndef LOCKSTEP_SUBMISSION_GRADING_H
#define LOCKSTEP_SUBMISSION_GRADING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/text.h"
#include "submission/handed_in.h"
#include "submission/rubric.h"
#include "submission/verification.h"

// A row for each submission, and then one for all else that was handed in.
typedef struct grading {
    verification *items;
    size_t count;
    const handed_in *in;
    strvec names;         // of the rows (handed_in_names), printable
    const rubric *rubric; // NULL: no points
    uint64_t choice;
} grading;

size_t grading_rows(const grading *g);
// "refused", "not graded", or the outcome of all checks.
const char *grading_verdict(const grading *g, size_t row);
// Appends what was found, in one line: "figures; not shown: training; same execution as 1 other".
void grading_append_found(const grading *g, size_t row, text *out);
// Returns the points of a row; NAN: none.
double grading_points(const grading *g, size_t row);
// Returns the next submission after `from` that has a trace of `v`; g->count if there is none.
size_t grading_find_copy(const grading *g, const verification *v, size_t from);

// Prints verdict, name, author, accuracy and what was found of each row, as wide as the terminal,
// or in 100 columns.
void grading_print_rows(const grading *g);
// Writes a line for each row: student (the row's name), author and number as the page states them,
// verdict, accuracy of the best run, what was found, and points, if there is a rubric.
status grading_write_csv(const grading *g, const char *path, error *err) MUST_CHECK;

#endif
