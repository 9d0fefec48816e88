// SPDX-License-Identifier: MIT
// rubric.h - the points of a submission, by a file of schema lockstep.rubric/1 (docs/formats.md).
#ifndef LOCKSTEP_SUBMISSION_RUBRIC_H
#define LOCKSTEP_SUBMISSION_RUBRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "submission/verification.h"

enum { RUBRIC_ACCURACIES = 100 };

typedef struct rubric {
    double checks[CHECK_SUBJECTS][CHECK_OUTCOMES]; // of each subject, by its outcome
    struct {
        double least, points; // least: a fraction
    } accuracies[RUBRIC_ACCURACIES];
    size_t accuracy_count;
    double same_execution; // that another submission has, too
} rubric;

// STATUS_INPUT, with the place, for an unknown key or a value that is no number of points.
status rubric_read(const char *path, rubric *r, error *err) MUST_CHECK;

// Returns the points, at least 0. `copied`: another submission has one of its executions. NAN: it
// was refused, or not graded. An accuracy counts if a packed model gave it.
double rubric_points(const rubric *r, const verification *v, bool copied);

#endif
