// results.h - finished runs, every figure of them, and their comparisons.
#ifndef LOCKSTEP_RESULTS_RESULTS_H
#define LOCKSTEP_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/manifest.h"
#include "results/collectives.h"
#include "results/compare.h"
#include "results/figures.h"
#include "results/planned.h"
#include "results/prediction.h"
#include "results/run.h"
#include "words/words.h"

typedef struct results_options {
    const char *const *folders; // as run_list_add takes them
    size_t folder_count;
    // Such a folder, what all others are compared with; NULL: no comparison, unless a plan of kind
    // `runs` names one.
    const char *baseline;
    const char *plan; // the file that names the runs, or that they were planned by; NULL: none
    // What bench-allreduce measured, a folder: predictions stand beside the measured; NULL: none
    // do.
    const char *collectives;
    language language;
    const logger *log; // shows how far reading is; NULL: nothing is shown
} results_options;

typedef struct results {
    results_options options;
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
    const struct results *whole; // of a view: the results that have its figures; else NULL
} results;

// Reads the manifests and computes every figure. STATUS_FINDING when two executions of one run
// ended in different models.
status results_open(results *r, const results_options *o, error *err) MUST_CHECK;
void results_release(results *r);

// OWNER.METRIC, also of a view; NULL when there is none. Of a group as figures_of_repeats. The
// values: NAN when there is none. That there is a metric of that name is asserted.
const figure *results_figure(const results *r, const char *owner, const char *metric);
const figure *results_group_figure(const results *r, const group *g, const char *metric);
double results_value(const results *r, const char *owner, const char *metric);
double results_group_value(const results *r, const group *g, const char *metric);

// Records in `m` the files that the results come from, and the parameters that choose among them.
status results_record(const results *r, manifest *m, error *err) MUST_CHECK;

// Records a file as an input, by the bytes that it has on disk.
status results_record_file(manifest *m, const char *path, error *err) MUST_CHECK;

// Explains a figure: the files that it comes from, what it is when computed from them again, and
// where their inputs came from. The text goes to `out`, also when the answer is STATUS_FINDING:
// that a file is not the recorded one, or that the figure comes out differently. An unknown figure
// is STATUS_USAGE and names the nearest.
status results_why(const results *r, const char *id, text *out, error *err) MUST_CHECK;

// Holds figures against a file of bands, "METRIC: [LOW, HIGH]" or "RUN.METRIC: [LOW, HIGH]" each; a
// metric alone is checked for every experiment, on the mean over its repeats. One line a check goes
// to `out`. STATUS_FINDING when a figure is outside its band or cannot be shown.
status results_check(const results *r, const char *path, text *out, error *err) MUST_CHECK;
// The same for --json: appends {figure, value, low, high, inside} of each check to `list`.
status results_check_list(const results *r, const char *path, yaml_node *list,
                          error *err) MUST_CHECK;

#endif
