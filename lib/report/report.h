// report.h - results as report.html, .md, .csv and .tex, and as answers for a terminal.
#ifndef LOCKSTEP_REPORT_REPORT_H
#define LOCKSTEP_REPORT_REPORT_H

#include "base/error.h"
#include "base/text.h"
#include "data/manifest.h"
#include "results/results.h"

typedef struct report_options {
    const char *title;            // NULL: made from the runs
    const char *author, *student; // a name, and the number of a student; NULL: not told
    const char *discussion;       // a Markdown file of the author's own text; NULL: none
    const char *figures;          // a folder that the drawings go to as well; NULL: none
} report_options;

// Records in `m` what the report is made from: all that a stage key needs.
status report_record(const results *r, const report_options *o, manifest *m, error *err) MUST_CHECK;

// Writes report.html, report.md, report.csv and report.tex into `folder`, which must exist, and
// every drawing as files of its own, ID.svg and ID.pdf, into `folder`/figures, which is made where
// there are any. Records them in `m`.
status report_write(const results *r, const report_options *o, const char *folder, manifest *m,
                    error *err) MUST_CHECK;

// The answer to the question that the runs were planned for, as plain text. STATUS_USAGE where
// nothing was asked.
status report_answer(const results *r, text *out, error *err) MUST_CHECK;

// A line a run: accuracy, seconds an epoch, executions.
status report_summary(const results *r, text *out, error *err) MUST_CHECK;

#endif
