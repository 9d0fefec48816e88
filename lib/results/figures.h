// figures.h - every number that a report shows, under a name of its own: what report.csv lists and
// what --why and --check ask for.
#ifndef LOCKSTEP_RESULTS_FIGURES_H
#define LOCKSTEP_RESULTS_FIGURES_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/compare.h"
#include "results/planned.h"
#include "results/prediction.h"
#include "results/run.h"

typedef struct figure {
    char *id;           // "RUN.METRIC", e.g. "ddp4.accuracy"
    const char *owner;  // the run's or group's name
    const char *metric; // points into id
    double value;       // NAN when it cannot be shown; then `note` says why
    double low, high;   // 95 % interval; NAN without
    const char *unit;   // "fraction", "s", "ms", "x", ""; static text
    char *note;         // "" without
    char *source;       // "FILE: KEY" that it was read from; "" for figures of several runs
    const run *run; // NULL for figures of several runs; one of its executions for that one's own
    // Figures of several runs: of whom, against whom (may be NULL), and from which of their
    // metrics.
    const group *of, *against;
    const char *part;
} figure;

typedef struct figure_list {
    figure *items;
    size_t count, capacity;
} figure_list;

status figures_of_run(figure_list *list, const run *r, error *err) MUST_CHECK;
// Means over the runs of a group of two or more.
status figures_of_group(figure_list *list, const group *g, error *err) MUST_CHECK;
status figures_of_comparison(figure_list *list, const comparison *c, error *err) MUST_CHECK;
// Effects of the steps of a plan.
status figures_of_plan(figure_list *list, const plan *p, error *err) MUST_CHECK;
// What an epoch was predicted to take, with the collectives in `folder`.
status figures_of_prediction(figure_list *list, const prediction *p, const collectives *measured,
                             error *err) MUST_CHECK;
void figures_release(figure_list *list);

const figure *figures_find(const figure_list *list, const char *id);
// The id nearest to a misspelt one; NULL when none is near.
const char *figures_nearest(const figure_list *list, const char *id, error *err);

// As comma-separated values (RFC 4180, lines end in a line feed), one figure a line.
void figures_to_csv(const figure_list *list, text *out);

#endif
