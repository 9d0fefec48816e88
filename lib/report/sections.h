// sections.h - the parts of a report, each into a document (private to lib/report).
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

// "1 epoch", "2 epochs": `n` in the first of two messages when it is 1, else in the second. Returns
// `buffer`.
enum { COUNT_TEXT = 64 };
const char *say_count(const results *r, double n, const char *one, const char *many,
                      char buffer[COUNT_TEXT]);

// Cells. A number that is not known is an empty cell.
void cell_number(document *d, const char *format, double value);
void cell_count(document *d, int64_t value); // unknown: below 0
void cell_percent(document *d, double fraction);
// What append functions made of `out`, which is released.
void cell_appended(document *d, cell_style style, text *out);
void cell_range(document *d, interval percent_of_one);
// Seconds as they are shown: two digits behind the point, four below a second.
int seconds_digits(double seconds);
// Behind a time that is simulated; document_footnote says once what it means.
#define SIMULATED_MARK "†"
// And behind one of a machine that was busy with something else.
#define BUSY_MARK "‡"
// A duration of this run, with what must be said beside it: nothing for a resumed run, the marks.
void cell_time(document *d, const run *of, double seconds);
// The figure OWNER.METRIC as its metric says, seconds with the mark where they are simulated; a
// cell without a value is empty. Cells of figures carry their ids.
void cell_figure(const results *r, document *d, const char *owner, const char *metric);
// Its interval, in brackets.
void cell_figure_range(const results *r, document *d, const char *owner, const char *metric);
// A cell that was written otherwise shows this figure, `back` cells before the one added last.
// NULL: none.
void cell_shows(document *d, size_t back, const figure *f);
// What part of OWNER.WHOLE it is; its id is that of the part.
void cell_share(const results *r, document *d, const char *owner, const char *part,
                const char *whole);
// Of a group: its own figure, that of its only run, or the mean over its repeats.
void cell_group(const results *r, document *d, const group *g, const char *metric);
// Of each of some metrics a cell, and its heading.
void cell_figures(const results *r, document *d, const char *owner, const char *const *metrics,
                  size_t count);
void head_figures(const results *r, document *d, const char *const *metrics, size_t count);
// A run's name, with the mark behind it where its times are simulated, for heads and bars.
enum { LABEL_TEXT = 128 };
const char *label_run(const run *one, char buffer[LABEL_TEXT]);
// The time to the target accuracy of some repeats, or that it was not reached; empty without one.
void cell_target(const results *r, document *d, const group *g);
// Has one of the runs a target?
bool any_target(const results *r);
// What the time to the target is.
void note_target(const results *r, document *d);
// Three cells: ratio, interval, verdict.
void cells_speedup(const results *r, document *d, const comparison *c);
// A comparison as a row: the head, behind the columns of `front`; the cells of a group that is
// compared, and of one that others are compared with.
void head_comparison(const results *r, document *d, const wording *front, size_t count);
void cells_comparison(const results *r, document *d, const comparison *c);
void cells_uncompared(const results *r, document *d, const group *g);
// Verdicts, and the notes that say what they rest on.
void cell_time_verdict(const results *r, document *d, const comparison *c, verdict_length length);
void cell_accuracy_verdict(const results *r, document *d, const comparison *c);
void note_verdicts(const results *r, document *d);
void head_cells(const results *r, document *d, const wording *columns, size_t count);

// The line below the title, and what the mark of simulated times means.
void section_byline(const results *r, const report_options *o, document *d);
void write_footnote(const results *r, document *d);
// The first screen of runs that no question was asked of: the answer, a chart and a table.
status section_first(const results *r, document *d, error *err) MUST_CHECK;
// Why the answer may be believed: bits, executions, like for like.
void tell_trust(const results *r, document *d);
// Is there a speed-up to draw?
bool any_speedup(const results *r);
void section_summary(const results *r, document *d);
void section_repeats(const results *r, document *d);
status section_published(const results *r, document *d, error *err) MUST_CHECK;
// The same without the note that the figures are those of other machines.
status section_published_table(const results *r, document *d, error *err) MUST_CHECK;
// Predicted scaling beside the measured; nothing without measured collectives.
void section_prediction(const results *r, document *d);
void section_comparison(const results *r, document *d);
// Bars of the speed-ups that may be given.
status section_speedups(const results *r, document *d, const char *axis, error *err) MUST_CHECK;
// Of a plan; without drawings, and with narrower tables, unless `draw`.
status section_ladder(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// What published figures say along a ladder, beside what was measured here. Nothing where no source
// has figures for two of its runs.
status section_published_walk(const results *r, document *d, error *err) MUST_CHECK;
status section_study(const results *r, document *d, bool draw, error *err) MUST_CHECK;
// A drawing of plot.h with its caption; takes `svg` over. Without one it says that there is none.
void section_drawing(const results *r, document *d, const char *id, char *svg, const char *caption);
// Loss by epoch, and accuracy where it is not on the first screen.
status section_curves(const results *r, document *d, bool accuracy, error *err) MUST_CHECK;
status section_accuracy_figure(const results *r, document *d, error *err) MUST_CHECK;
status section_time_split(const results *r, document *d, error *err) MUST_CHECK;
// What DataParallel, pipelines and DistributedDataParallel lose, for the runs that have any.
status section_strategy(const results *r, document *d, error *err) MUST_CHECK;
// What several GPUs did meanwhile, as the driver says; nothing where no run has such figures.
status section_gpus(const results *r, document *d, error *err) MUST_CHECK;
// The drawing alone.
status section_time_figure(const results *r, document *d, error *err) MUST_CHECK;
void section_classes(const results *r, document *d);
// The test images that each model got wrong with the highest probability, if they are still there.
status section_mistakes(const results *r, document *d, error *err) MUST_CHECK;
// Returns the name of a class in the report's language, if it is one of CIFAR-10's.
const char *class_label(const results *r, const char *name);
// Of runs with equal predictions only the first is shown.
bool shows_classes(const results *r, size_t at);
// Without the confusion matrices.
void section_class_table(const results *r, document *d);
void section_environment(const results *r, document *d);
// That times are means over executions, where some are.
void note_executions(const results *r, document *d);
void section_files(const results *r, document *d);
// The files of many runs: a line each.
void section_manifests(const results *r, document *d);
void section_commands(const results *r, document *d);
// The audit of a report, into a part of a page; nothing without a claim.
struct reproduced;
void section_findings(const results *r, document *d, const struct reproduced *one);
// Published reports: all of it, or the table of all rows alone.
status section_reproduction(const results *r, document *d, error *err) MUST_CHECK;
status section_rows(const results *r, document *d, bool wide, error *err) MUST_CHECK;

#endif
