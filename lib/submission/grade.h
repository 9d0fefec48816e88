// SPDX-License-Identifier: MIT
// grade.h - the commands `verify` and `grade`: submissions are verified one after another, and
// compared with each other.
#ifndef LOCKSTEP_SUBMISSION_GRADE_H
#define LOCKSTEP_SUBMISSION_GRADE_H

#include "base/error.h"
#include "pipeline/pipeline.h"

// Verifies the archives that the settings name (verify.h), and prints every check.
status submission_verify(pipeline *p, error *err) MUST_CHECK;
// Verifies what lies in the folders that they name (handed_in.h), and prints a table: one row each.
status submission_grade(pipeline *p, error *err) MUST_CHECK;

#endif
