// report.h - from finished runs to report.html, .md, .csv and .tex.
#ifndef LOCKSTEP_REPORT_REPORT_H
#define LOCKSTEP_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "data/manifest.h"
#include "report/collectives.h"
#include "report/compare.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/planned.h"
#include "report/prediction.h"
#include "report/run.h"
#include "report/text.h"

typedef struct report_options {
    const char *const *folders; // as run_list_add takes them
    size_t folder_count;
    // Such a folder, what all others are compared with; NULL: no comparison, unless a plan of kind
    // `runs` names one.
    const char *baseline;
    const char *plan; // the file that names the runs, or that they were planned by; NULL: none
    // What bench-allreduce measured, a folder: predictions stand beside the measured; NULL: none
    // do.
    const char *collectives;
    const char *title; // NULL: made from the runs
    language language;
    const logger *log; // shows how far reading is; NULL: nothing is shown
} report_options;

typedef struct report {
    report_options options;
    run_list list; // the baseline's runs first
    bool has_baseline;
    group *groups;
    size_t group_count;
    comparison *comparisons; // of groups 1, 2, … with group 0, when there is a baseline
    size_t comparison_count;
    plan plan;               // without items where nothing was asked
    collectives collectives; // likewise
    prediction *predictions; // of every group that prediction_is_due to, in order
    size_t prediction_count;
    struct reproduction *reproduction; // of a plan of published reports; NULL without
    figure_list figures;
} report;

// Reads the manifests and computes every figure. STATUS_FINDING when two executions of one run
// ended in different models.
status report_open(report *r, const report_options *o, error *err) MUST_CHECK;
void report_release(report *r);

// Records in `m` what the report is made from: its inputs and parameters, all that a stage key
// needs.
status report_record(const report *r, manifest *m, error *err) MUST_CHECK;

// Records another file that the report depends on.
status report_record_file(manifest *m, const char *path, error *err) MUST_CHECK;

// Writes report.html, report.md, report.csv and report.tex into `folder`, which must exist, and
// every drawing as an SVG file of its own, ID.svg, into the folder `figures`, which is made where
// there are any (NULL: not). Records them in `m`.
status report_write(const report *r, const char *folder, const char *figures, manifest *m,
                    error *err) MUST_CHECK;

// The answer to the question that the runs were planned for, as plain text. STATUS_USAGE where
// nothing was asked.
status report_answer(const report *r, text *out, error *err) MUST_CHECK;

// A line a run: accuracy, seconds an epoch, executions.
status report_summary(const report *r, text *out, error *err) MUST_CHECK;

// Explains a figure: the files that it comes from, what it is when computed from them again, and
// where their inputs came from. The text goes to `out`, also when the answer is STATUS_FINDING:
// that a file is not the recorded one, or that the figure comes out differently. An unknown figure
// is STATUS_USAGE and names the nearest.
status report_why(const report *r, const char *id, text *out, error *err) MUST_CHECK;

// Holds figures against a file of bands, "METRIC: [LOW, HIGH]" or "RUN.METRIC: [LOW, HIGH]" each; a
// metric alone is checked for every experiment, on the mean over its repeats. One line a check goes
// to `out`. STATUS_FINDING when a figure is outside its band or cannot be shown.
status report_check(const report *r, const char *path, text *out, error *err) MUST_CHECK;
// The same for --json: appends {figure, value, low, high, inside} of each check to `list`.
status report_check_list(const report *r, const char *path, yaml_node *list, error *err) MUST_CHECK;

#endif
