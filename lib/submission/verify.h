// SPDX-License-Identifier: MIT
// verify.h - checks a submission (pack.h) against its own files, the data, and replay.
//
//     archive ─► unpack.h ─► files: recorded hashes, keys and digests
//         ─► page.h: the report again, compared figure by figure and as text
//         ─► experiments, data, models: evaluated again, parts of the trainings run again
//         (replay.h) ─► verification: a list of checks
//
// A submission may come from anyone. Nothing in it is executed, no file outside its folder is
// written, and texts from it are shown without control characters. Its author's own templates make
// a page beside ours, and only that (base/template.h has their limits).
#ifndef LOCKSTEP_SUBMISSION_VERIFY_H
#define LOCKSTEP_SUBMISSION_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "pipeline/pipeline.h"

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
typedef enum check_outcome { CHECK_EQUAL, CHECK_NOT_SHOWN, CHECK_DIFFERENT } check_outcome;

typedef struct check {
    check_subject subject;
    check_outcome outcome;
    char *text; // one line: the run, and the finding
} check;

typedef struct verification {
    char *archive;   // as given: the file, or the folder that it was unpacked to
    char *author;    // with the student number, as the report states them; NULL: it does not
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
    char *refused; // the archive is no submission: why; else NULL
    bool failed;   // a check failed at run time, such as for want of memory, and was not shown
} verification;

// Verifies one archive, or a folder that one was unpacked to. Its files and the report made again
// stay in ARTIFACTS/verified/`name`, which is replaced. Its author must not know `choice` in
// advance. A contradiction is a check with CHECK_DIFFERENT, not a failure; nor is an archive that
// is no submission: `refused` says why.
status verify_archive(pipeline *p, const char *archive, const char *name, uint64_t choice,
                      verification *v, error *err) MUST_CHECK;
void verification_release(verification *v);

// Returns the name of a subject or an outcome: "figures", "not shown".
const char *check_subject_name(check_subject s);
const char *check_outcome_name(check_outcome o);
// Returns the heaviest outcome of the checks of a subject; with CHECK_SUBJECTS, of all. A subject
// without a check was not shown.
check_outcome verification_outcome(const verification *v, check_subject s);

#endif
