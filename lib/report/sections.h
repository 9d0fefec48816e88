// sections.h - the parts of a report, each into a document (private to lib/report).
#ifndef LOCKSTEP_REPORT_SECTIONS_H
#define LOCKSTEP_REPORT_SECTIONS_H

#include "base/error.h"
#include "report/document.h"
#include "report/report.h"

enum { SHORT_HASH = 12, TIME_TEXT = 64 };

static inline const char *say(const report *r, message m) {
    return message_text(r->options.language, m);
}

// Cells. A number that is not known is an empty cell.
void cell_number(document *d, const char *format, double value);
void cell_count(document *d, int64_t value); // unknown: below 0
void cell_percent(document *d, double fraction);
void cell_range(document *d, interval percent_of_one);
// Seconds as they are shown: two digits behind the point, four below a second.
int seconds_digits(double seconds);
// A duration of this run, with what must be said beside it: nothing for a resumed run, SIMULATED.
void cell_time(const report *r, document *d, const run *of, double seconds);
// Three cells: ratio, interval, verdict.
void cells_speedup(const report *r, document *d, const comparison *c);
// Is a difference in accuracy one?
void cell_accuracy_verdict(const report *r, document *d, const comparison *c);
void head_cells(const report *r, document *d, const message *columns, size_t count);

void section_summary(const report *r, document *d);
status section_repeats(const report *r, document *d, error *err) MUST_CHECK;
status section_published(const report *r, document *d, error *err) MUST_CHECK;
status section_comparison(const report *r, document *d, error *err) MUST_CHECK;
// Of a plan; without drawings, and with narrower tables, unless `draw`.
status section_ladder(const report *r, document *d, bool draw, error *err) MUST_CHECK;
status section_study(const report *r, document *d, bool draw, error *err) MUST_CHECK;
// The answer of a study of loader workers: what limits a step, loading or computing.
status section_loader_verdict(const report *r, document *d, error *err) MUST_CHECK;
status section_curves(const report *r, document *d, error *err) MUST_CHECK;
status section_time_split(const report *r, document *d, error *err) MUST_CHECK;
status section_classes(const report *r, document *d, error *err) MUST_CHECK;
void section_environment(const report *r, document *d);
void section_files(const report *r, document *d);
void section_commands(const report *r, document *d);

#endif
