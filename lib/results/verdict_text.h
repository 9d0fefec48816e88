// verdict_text.h - a verdict in words, wherever one is shown: on a page, in report.csv, by --why
// and
// --check.
#ifndef LOCKSTEP_RESULTS_VERDICT_TEXT_H
#define LOCKSTEP_RESULTS_VERDICT_TEXT_H

#include "base/text.h"
#include "results/compare.h"
#include "words/words.h"

// How much is said: a word beside cells that have the figures, or a whole statement.
typedef enum verdict_length { VERDICT_WORD, VERDICT_SENTENCE } verdict_length;

// "faster"; "1.52 times as fast [1.48, 1.57]"; or why there is no verdict, and how to get one.
void verdict_append_time(text *out, const comparison *c, verdict_length length, language l);
// "significant (p = 0.01, paired t-test over 3 seeds)"; a sentence begins with the points.
void verdict_append_accuracy(text *out, const comparison *c, verdict_length length, language l);

// "-7.01 points [-8.10, -5.92]".
void verdict_append_points(text *out, const comparison *c, language l);

#endif
