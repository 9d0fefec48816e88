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
// A duration of this run, with the mark if it is simulated; empty for a resumed run.
void cell_time(document *d, const run *of, double seconds);
// The figure OWNER.METRIC in its metric's style, with the mark on a simulated time. A cell without
// a value is empty. Cells of figures carry their ids.
void cell_figure(const results *r, document *d, const char *owner, const char *metric);
// The figure's interval, in brackets.
void cell_figure_range(const results *r, document *d, const char *owner, const char *metric);
// Marks a cell written otherwise as showing this figure, `back` cells before the last one added.
// NULL: none.
void cell_shows(document *d, size_t back, const figure *f);
// The share of OWNER.PART in OWNER.WHOLE; the cell's id is that of the part.
void cell_share(const results *r, document *d, const char *owner, const char *part,
                const char *whole);
// A figure of a group: a joint metric, that of its only run, or the mean over its repeats.
void cell_group(const results *r, document *d, const seed_group *g, const char *metric);
// One cell per metric, and their headings.
void cell_figures(const results *r, document *d, const char *owner, const char *const *metrics,
                  size_t count);
void head_figures(const results *r, document *d, const char *const *metrics, size_t count);
// Returns a run's name, with the mark if its times are simulated, for heads and bars.
enum { LABEL_TEXT = 128 };
const char *label_run(const run *one, char buffer[LABEL_TEXT]);
// The time to the target accuracy over some repeats, or that it was not reached; empty without one.
void cell_target(const results *r, document *d, const seed_group *g);
// Does any run have a target?
bool any_target(const results *r);
// Adds a note that explains the time to the target.
void note_target(const results *r, document *d);
// Three cells: ratio, interval, verdict.
void cells_speedup(const results *r, document *d, const comparison *c);
// A comparison as a table row: the head, after the columns of `front`; the cells of a compared
// group; and those of a group that serves as the baseline.
void head_comparison(const results *r, document *d, const wording *front, size_t count);
void cells_comparison(const results *r, document *d, const comparison *c);
void cells_uncompared(const results *r, document *d, const seed_group *g);
// Verdicts, and notes on their basis.
void cell_time_verdict(const results *r, document *d, const comparison *c, verdict_length length);
void cell_accuracy_verdict(const results *r, document *d, const comparison *c);
void note_verdicts(const results *r, document *d);
void head_cells(const results *r, document *d, const wording *columns, size_t count);

// The line below the title, and the explanation of the mark.
void section_byline(const results *r, const report_options *o, document *d);
void write_footnote(const results *r, document *d);
// The first screen of runs without a plan: the answer, a chart and a table.
status section_chart(const results *r, document *d, error *err) MUST_CHECK;
status section_first(const results *r, document *d, error *err) MUST_CHECK;
// Adds the evidence for the answer: bits, executions, like for like.
void write_evidence(const results *r, document *d);
// Is there a speed-up to draw?
bool any_speedup(const results *r);
void section_repeats(const results *r, document *d);
status section_published_table(const results *r, document *d, error *err) MUST_CHECK;
// Bars of the speed-ups for which times are comparable.
status section_speedups(const results *r, document *d, const char *axis, error *err) MUST_CHECK;
// Sections of a plan; without drawings, and with narrower tables, unless `draw`.
status section_ladder(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// Published figures along a ladder, and our measurements of the same steps. Nothing if no source
// has figures for two of its runs.
status section_published_walk(const results *r, document *d, error *err) MUST_CHECK;
status section_study(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// A drawing of plot.h with its caption. Takes ownership of `svg`; if NULL, adds a note instead.
void section_drawing(const results *r, document *d, const char *id, char *svg, const char *caption);
// Loss by epoch, and accuracy unless it is on the first screen.
status section_curves(const results *r, document *d, bool accuracy, error *err) MUST_CHECK;
status section_accuracy_figure(const results *r, document *d, error *err) MUST_CHECK;
// The time lost by DataParallel, pipelines and DistributedDataParallel, for runs that have any.
status section_strategy(const results *r, document *d, error *err) MUST_CHECK;
// Only the drawing.
status section_time_figure(const results *r, document *d, error *err) MUST_CHECK;
void section_classes(const results *r, document *d);
// Returns the name of a class in the report's language, if it is one of CIFAR-10's.
const char *class_label(const results *r, const char *name);
// Of runs with equal predictions only the first is shown.
bool shows_classes(const results *r, size_t at);
// Without the confusion matrices.
void section_class_table(const results *r, document *d);
// How many runs have seconds per epoch from turns?
size_t timed_runs(const results *r);
// Notes what s / epoch, V and the model's digits are, and which times are means over executions.
void note_times(const results *r, document *d);
// The audit of a published report, for a part of the page; nothing without a claim.
struct reproduced;
void section_findings(const results *r, document *d, const struct reproduced *one);
// Published reports: the whole section, or only the table of all rows.
status section_reproduction(const results *r, document *d, error *err) MUST_CHECK;
status section_rows(const results *r, document *d, bool wide, error *err) MUST_CHECK;

#endif
