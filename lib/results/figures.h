// figures.h - the numbers of a report, each under a name of its own: the rows of metrics.h and
// joint_metrics.h, filled for its runs, groups, comparisons and predictions. report.csv lists them,
// --why and --check ask for them, and so does every cell of the page that shows one.
#ifndef LOCKSTEP_RESULTS_FIGURES_H
#define LOCKSTEP_RESULTS_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/joint_metrics.h"

typedef struct figure {
    char *id;              // "RUN.METRIC", e.g. "ddp4.accuracy"
    const char *owner;     // the run's or group's name
    const char *metric;    // points into id
    const metric_row *row; // what it is
    size_t member;         // of it; see metrics.h
    double value;          // NAN when it cannot be shown; then `note` says why
    double low, high;      // 95 % interval; NAN without
    double deviation;      // of a mean over repeats; NAN without
    bool simulated;        // it is a time, and says nothing about as many real devices
    bool busy;             // it is a time of a machine that did something else, too
    char *note;            // "" without
    char *source;          // "FILE: KEY" that it was read from; "" for figures of several runs
    const run *run; // NULL for figures of several runs; one of its executions for that one's own
    // Figures of several runs: of whom, against whom (may be NULL), and from which of their
    // metrics.
    const group *of, *against;
    const char *part;
} figure;

typedef struct figure_list {
    figure *items;
    size_t count, capacity;
    size_t *slots; // places in `items` + 1, found by the hash of an id; 0: free
    size_t slot_count;
} figure_list;

status figures_of_run(figure_list *list, const run *r, error *err) MUST_CHECK;
// Means over the runs of a group of two or more; nothing where they are listed already.
status figures_of_group(figure_list *list, const group *g, error *err) MUST_CHECK;
status figures_of_comparison(figure_list *list, const comparison *c, error *err) MUST_CHECK;
// Of the steps of a plan, and the means of its groups.
status figures_of_plan(figure_list *list, const plan *p, error *err) MUST_CHECK;
// What an epoch was predicted to take, with the collectives in `folder`.
status figures_of_prediction(figure_list *list, const prediction *p, const collectives *measured,
                             error *err) MUST_CHECK;
void figures_release(figure_list *list);

// NULL when there is none.
const figure *figures_find(const figure_list *list, const char *id);
const figure *figures_of(const figure_list *list, const char *owner, const char *metric);
// Of a group: a joint metric, that of its only run, or the mean over its repeats.
const figure *figures_of_repeats(const figure_list *list, const group *g, const char *metric);
// The id nearest to a misspelt one; NULL when none is near.
const char *figures_nearest(const figure_list *list, const char *id, error *err);

// As comma-separated values (RFC 4180, lines end in a line feed), one figure a line.
void figures_to_csv(const figure_list *list, text *out);

#endif
