// SPDX-License-Identifier: MIT
// verification.h - what was found out about a submission: a list of checks.
#ifndef LOCKSTEP_SUBMISSION_VERIFICATION_H
#define LOCKSTEP_SUBMISSION_VERIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"

typedef enum check_subject {
    CHECK_FILES,      // files and manifests have the recorded hashes
    CHECK_FIGURES,    // report.csv
    CHECK_REPORT,     // report.json and .md, and .html if the same library made it; an own page
    CHECK_EXPERIMENT, // a run has the settings of its file in experiments/
    CHECK_DATA,       // a run has the contents of the data set
    CHECK_TEST,       // the model gives the recorded predictions
    CHECK_TRAINING,   // parts of the training give the recorded states, and the last one the model
    CHECK_SUBJECTS
} check_subject;

// In the order of their weight.
typedef enum check_outcome {
    CHECK_EQUAL,
    CHECK_NOT_SHOWN,
    CHECK_DIFFERENT,
    CHECK_OUTCOMES
} check_outcome;

typedef struct check {
    check_subject subject;
    check_outcome outcome;
    char *text; // one line: the run, and the finding
} check;

typedef struct verification {
    char *archive;   // as given: the file, or the folder that it was unpacked to
    char *author;    // with the student number, as the report states them; NULL: it does not
    char *student;   // that number alone; NULL: it states none
    char *report;    // the report that was made again; NULL: none
    char *own_page;  // the page by the author's own templates, made again; NULL: none
    uint64_t choice; // the seed that chooses the segments
    check *checks;
    size_t count, capacity;
    // Properties that no two executions share: the time and machine of each training, and its
    // times of steps. For comparing submissions with each other.
    strvec traces;
    // Of its runs: the lowest and the highest, as the packed models give it, or `recorded` if a
    // model was not tested again; `accuracies` is their number.
    double lowest, highest;
    size_t accuracies;
    bool recorded;
    strvec beside;  // other files in the archive, which are not read
    char *refused;  // the archive is no submission: why; else NULL
    char *ungraded; // it was not verified to the end: why; else NULL
    bool failed;    // a check failed at run time, such as for want of memory, and was not shown
} verification;

// Adds a check. The text is cleaned (printable.h).
void verification_add(verification *v, check_subject s, check_outcome o, const char *format, ...)
    PRINTF_LIKE(4, 5);
// Adds the check that ended with `rc`: an input that was refused contradicts the submission, and a
// failure at run time shows nothing. Returns STATUS_STOPPED itself, and STATUS_OK without a check.
// `name` begins the text.
status verification_add_failure(verification *v, check_subject s, status rc, const char *name,
                                const error *why, error *err) MUST_CHECK;

// Adds the accuracy of a run, as recorded or as its model gives it (`again`).
void verification_add_accuracy(verification *v, double accuracy, bool again);

void verification_release(verification *v);

// "refused", "not graded", or the outcome of all checks.
const char *verification_verdict(const verification *v);

// Returns it as one of the list that --json prints, with its `traces`; and the other way round.
yaml_node *verification_to_tree(const verification *v) MUST_CHECK;
verification verification_of_tree(const yaml_node *tree) MUST_CHECK;

// Returns the name of a subject or an outcome: "figures", "not shown".
const char *check_subject_name(check_subject s);
const char *check_outcome_name(check_outcome o);
// Returns the heaviest outcome of the checks of a subject; with CHECK_SUBJECTS, of all. A subject
// without a check was not shown.
check_outcome verification_outcome(const verification *v, check_subject s);

#endif
