// SPDX-License-Identifier: MIT
// report.h - writes results as report.html, .md, .csv and .tex, and as answers for a terminal. The
// page is Markdown (report_page.h), from which the others are made.
#ifndef LOCKSTEP_REPORT_REPORT_H
#define LOCKSTEP_REPORT_REPORT_H

#include "base/error.h"
#include "base/text.h"
#include "data/manifest.h"
#include "report/facts.h"

typedef struct report_options {
    facts_head head;
    const char *discussion; // a Markdown file with the author's text; NULL: none
    const char *templates;  // a folder with templates that replace those of the same name
    const char *figures;    // a folder for additional copies of the drawings; NULL: none
} report_options;

// Records in `m` all inputs of the report: everything that the stage key needs.
status report_record(const results *r, const report_options *o, manifest *m, error *err) MUST_CHECK;

// Writes report.html, .md, .txt, .json, .csv and, if pandoc is installed, .tex into `folder`,
// which must exist, and each drawing as ID.svg and, if rsvg-convert is installed, as ID.pdf into
// `folder`/figures, which is created if there are any. Records the files in `m`.
status report_write(const results *r, const report_options *o, const char *folder, manifest *m,
                    error *err) MUST_CHECK;

// Writes tables, then the answer to the question that the runs were planned for, as plain text.
// STATUS_USAGE if no question was asked.
status report_answer(const results *r, const char *language, text *out, error *err) MUST_CHECK;

// Writes one line per run: accuracy, seconds per epoch, executions.
status report_summary(const results *r, const char *language, text *out, error *err) MUST_CHECK;

#endif
