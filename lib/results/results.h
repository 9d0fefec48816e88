// SPDX-License-Identifier: MIT
// results.h - finished runs, their figures, and their comparisons.
#ifndef LOCKSTEP_RESULTS_RESULTS_H
#define LOCKSTEP_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "audit/audit.h"
#include "audit/claim.h"
#include "base/error.h"
#include "base/log.h"
#include "base/yaml_tree.h"
#include "results/collectives.h"
#include "results/compare.h"
#include "results/figures.h"
#include "results/planned.h"
#include "results/run.h"
#include "results/scaling.h"
#include "results/timed_arms.h"

typedef struct results_options {
    const char *const *folders; // as accepted by run_list_add
    size_t folder_count;
    // A folder, to which all others are compared; NULL: no comparison, unless a plan of kind `runs`
    // names a baseline.
    const char *baseline;
    const char *plan; // the file that names the runs, or that planned them; NULL: none
    // A folder of bench-allreduce measurements, from which scaling is predicted; NULL: no
    // predictions.
    const char *collectives;
    // Folders that time-runs wrote: the arms in them give runs their times (timed_arms.h).
    const char *const *turns;
    size_t turns_count;
    const char *test;  // the test data, if they are no longer where `evaluate` read them; else NULL
    const logger *log; // shows the progress of reading; NULL: shows nothing
} results_options;

typedef struct results {
    results_options options;
    run_list list; // the baseline's runs first
    timed_arms *timings;
    size_t timing_count;
    bool has_baseline;
    seed_group *groups;
    size_t group_count;
    comparison *comparisons; // of groups 1, 2, … with group 0, when there is a baseline
    size_t comparison_count;
    plan plan;               // without items if there is none
    collectives collectives; // likewise
    prediction *predictions; // of every group for which prediction_is_due, in order
    size_t prediction_count;
    struct reproduction *reproduction; // of a plan of published reports; else NULL
    figure_list figures;
    const struct results *whole; // of a view: the results that hold its figures; else NULL
} results;

// Published reports, each with the runs that reproduce its rows: a plan of kind `reproduction`
// (docs/formats.md). The rows of a report, and the variants of each of its studies, are results of
// their own (views) over some of the runs, so that every section can be written for them alone.
typedef struct reproduced {
    const char *source, *title; // "R001"; title: "" if there is none
    const char *claim_path;     // "" if there is none; then there is no audit either
    claim claim;
    findings audit;
    results rows; // the experiments, each compared with the run that the plan names, if any
    results *studies;
    size_t study_count;
} reproduced;

typedef struct reproduction {
    yaml_node *root;
    const char *name;
    const yaml_node *changed; // assignments applied to every run, a list; NULL: none
    reproduced *reports;      // in the order of the plan
    size_t count;
} reproduction;

// Reads the manifests and computes every figure. STATUS_FINDING if two executions of one run ended
// in different models; STATUS_INPUT if turns are of none of the runs, or if the runs are not those
// of a reproduction's plan.
status results_open(results *r, const results_options *o, error *err) MUST_CHECK;
void results_release(results *r);

// Find OWNER.METRIC, also for a view, and the figure of a group (figures_of_repeats); NULL, or NAN
// for the values, if there is none. Asserts that a metric of that name exists.
const figure *results_figure(const results *r, const char *owner, const char *metric);
const figure *results_group_figure(const results *r, const seed_group *g, const char *metric);
double results_value(const results *r, const char *owner, const char *metric);
double results_group_value(const results *r, const seed_group *g, const char *metric);

// Returns the comparison of a group with its baseline, or NULL.
const comparison *results_comparison(const results *r, const seed_group *g);

// Returns the epochs of that experiment when nothing is changed; -1 if unknown.
double reproduction_full_epochs(const reproduction *p, const char *name);

#endif
