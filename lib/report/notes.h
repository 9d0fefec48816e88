// SPDX-License-Identifier: MIT
// notes.h - what comparisons say, in words, outside of pages: the notes of report.csv, --why and
// --check, in English (share/report/notes.md).
#ifndef LOCKSTEP_REPORT_NOTES_H
#define LOCKSTEP_REPORT_NOTES_H

#include "base/error.h"
#include "base/text.h"
#include "report/page_templates.h"
#include "results/results.h"

// Fills the notes of the figures of comparisons, and of predictions that there are not.
status notes_write(figure_list *figures, error *err) MUST_CHECK;

// Appends a sentence about a comparison: a template such as "verdict.time".
status notes_say(page_templates *t, const char *sentence, const comparison *c, text *out,
                 error *err) MUST_CHECK;

#endif
