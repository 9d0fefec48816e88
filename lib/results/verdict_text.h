// SPDX-License-Identifier: MIT
// verdict_text.h - a verdict in words, as shown on a page, in report.csv, by --why and by --check.
#ifndef LOCKSTEP_RESULTS_VERDICT_TEXT_H
#define LOCKSTEP_RESULTS_VERDICT_TEXT_H

#include "base/text.h"
#include "results/compare.h"
#include "words/words.h"

// A word next to cells that have the figures, or a whole statement.
typedef enum verdict_length { VERDICT_WORD, VERDICT_SENTENCE } verdict_length;

// Appends "faster"; "1.52 times as fast [1.48, 1.57]"; or why there is no verdict, and how to get
// one. A word begins with the only setting that differs, if there is one: "loader workers 2 vs 0:
// slower".
void verdict_append_time(text *out, const comparison *c, verdict_length length, language l);
// Appends "significant (p = 0.01, paired t-test over 3 seeds)"; a sentence begins with the points.
void verdict_append_accuracy(text *out, const comparison *c, verdict_length length, language l);

// Appends "-7.01 points [-8.10, -5.92]".
void verdict_append_points(text *out, const comparison *c, language l);

#endif
