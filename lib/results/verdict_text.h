// SPDX-License-Identifier: MIT
// verdict_text.h - a verdict in English, for report.csv, --why and --check; pages have their own
// words (share/report).
#ifndef LOCKSTEP_RESULTS_VERDICT_TEXT_H
#define LOCKSTEP_RESULTS_VERDICT_TEXT_H

#include "base/text.h"
#include "results/compare.h"

// Appends "faster", or why there is no verdict, and how to get one; with the only setting that
// differs before it, if there is one: "loader workers 2 vs 0: slower".
void verdict_append_time(text *out, const comparison *c);
// The same as a statement without the figures beside it: "1.52 times as fast [1.48, 1.57]",
// "undecided (p = 0.3): between 4.0 % slower and 9.0 % faster".
void verdict_append_times(text *out, const comparison *c);
// Appends "significant (p = 0.01, paired t-test over 3 seeds)".
void verdict_append_accuracy(text *out, const comparison *c);

#endif
