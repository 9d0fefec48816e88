// SPDX-License-Identifier: MIT
// figures.h - the figures of a report, each with a unique id: the rows of metrics.h and
// joint_metrics.h, filled for its runs, groups, comparisons and predictions. report.csv lists them;
// --why, --check and the cells of the page look them up.
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
    const metric_row *row; // its kind
    size_t member;         // of it; see metrics.h
    double value;          // NAN if it cannot be shown; then `note` gives the reason
    double low, high;      // 95 % interval; NAN if there is none
    double deviation;      // of a mean over repeats; else NAN
    bool simulated;        // a simulated time: says nothing about that many real devices
    char *note;     // "" if there is none; of a comparison, and of a prediction that there is not,
                    // report/notes.h has the words
    char *source;   // "FILE: KEY" that it was read from; "" for figures of several runs
    const run *run; // NULL for figures of several runs; that execution for one execution's
    // Figures of several runs: the group, the group compared with (may be NULL), and the metric of
    // their runs that it is made of.
    const seed_group *of, *against;
    const comparison *compared;  // that it is of; NULL: none
    const prediction *predicted; // likewise
    const char *part;
} figure;

typedef struct figure_list {
    figure *items;
    size_t count, capacity;
    size_t *slots; // positions in `items` + 1, by hash of the id; 0: free
    size_t slot_count;
} figure_list;

// Of a run that metrics_check found good.
void figures_of_run(figure_list *list, const run *r);
// Means over the runs of a group of two or more; adds nothing if they are listed already.
void figures_of_group(figure_list *list, const seed_group *g);
void figures_of_comparison(figure_list *list, const comparison *c);
// Figures of the steps of a plan, and the means of its groups.
void figures_of_plan(figure_list *list, const plan *p);
// The predicted time of an epoch, with the collectives in `folder`.
void figures_of_prediction(figure_list *list, const prediction *p, const collectives *measured);
void figures_release(figure_list *list);

// Finds a figure by id, or by owner and metric; NULL if there is none.
const figure *figures_find(const figure_list *list, const char *id);
const figure *figures_of(const figure_list *list, const char *owner, const char *metric);
// The same figure of one execution of its run, from 1.
const figure *figures_of_execution(const figure_list *list, const figure *f, size_t number);
// A figure of a group: a joint metric, that of its only run, or the mean over its repeats.
const figure *figures_of_repeats(const figure_list *list, const seed_group *g, const char *metric);
// Appends ids that a wrong one may mean: "'tiny.accuracy' or 'other.accuracy'". Its metric may be
// right, without a run or with another; else it may be misspelt, or a part of an id. Appends
// nothing if there is none.
void figures_append_near(const figure_list *list, const char *id, text *out);

// Writes comma-separated values (RFC 4180, but lines end in a line feed), one figure per line.
void figures_to_csv(const figure_list *list, text *out);

#endif
