// SPDX-License-Identifier: MIT
// sections.h - the sections of a report, each written into a document (private to lib/report).
#ifndef LOCKSTEP_REPORT_SECTIONS_H
#define LOCKSTEP_REPORT_SECTIONS_H

#include "base/error.h"
#include "report/document.h"
#include "report/report.h"
#include "results/verdict_text.h"

enum { SHORT_HASH = 12, TIME_TEXT = 64 };

__attribute__((format_arg(2))) static inline const char *say(const results *r, const char *m) {
    return words_in(r->options.language, m);
}

// Formats "1 epoch", "2 epochs": `n` in the message `one` if it is 1, else in `many`. Returns
// `buffer`.
enum { COUNT_TEXT = 64 };
const char *say_count(const results *r, double n, const char *one, const char *many,
                      char buffer[COUNT_TEXT]);

// Cells. An unknown number gives an empty cell.
void cell_number(document *d, const char *format, double value);
void cell_count(document *d, int64_t value); // unknown: below 0
// Adds a cell with the text in `out`, and releases `out`.
void cell_appended(document *d, cell_style style, text *out);
// Returns the decimals shown for seconds: two, or four below one second.
int seconds_digits(double seconds);
// Follows a simulated time; document_footnote explains it once.
#define SIMULATED_MARK "†"
// The figure OWNER.METRIC in its metric's style, with the mark on a simulated time. A cell without
// a value is empty. Cells of figures carry their ids.
void cell_figure(const results *r, document *d, const char *owner, const char *metric);
// The figure's interval, in brackets.
void cell_figure_range(const results *r, document *d, const char *owner, const char *metric);
// Marks a cell written otherwise as showing this figure, `back` cells before the last one added.
// NULL: none.
void cell_shows(document *d, size_t back, const figure *f);
// A figure of a group: a joint metric, that of its only run, or the mean over its repeats.
void cell_group(const results *r, document *d, const seed_group *g, const char *metric);
// Returns a run's name, with the mark if its times are simulated, for heads and bars.
enum { LABEL_TEXT = 128 };
// Three cells: ratio, interval, verdict.
void cells_speedup(const results *r, document *d, const comparison *c);
// Verdicts, and notes on their basis.
void cell_time_verdict(const results *r, document *d, const comparison *c, verdict_length length);
void cell_accuracy_verdict(const results *r, document *d, const comparison *c);
void note_verdicts(const results *r, document *d);
void head_cells(const results *r, document *d, const wording *columns, size_t count);

void write_footnote(const results *r, document *d);
// Adds the evidence for the answer: bits, executions, like for like.
void write_evidence(const results *r, document *d);
// Sections of a plan; without drawings, and with narrower tables, unless `draw`.
status section_ladder(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// Published figures along a ladder, and our measurements of the same steps. Nothing if no source
// has figures for two of its runs.
status section_published_walk(const results *r, document *d, error *err) MUST_CHECK;
status section_study(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// A drawing of plot.h with its caption. Takes ownership of `svg`; if NULL, adds a note instead.
void section_drawing(const results *r, document *d, const char *id, char *svg, const char *caption);
// How many runs have seconds per epoch from turns?
size_t timed_runs(const results *r);

#endif
