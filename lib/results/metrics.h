// SPDX-License-Identifier: MIT
// metrics.h - every kind of figure that a report shows of one run, one row each: its name, its
// unit, its place in a manifest or its formula, and the file that it is recomputed from. Figures of
// several runs are in joint_metrics.h.
#ifndef LOCKSTEP_RESULTS_METRICS_H
#define LOCKSTEP_RESULTS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/run.h"
#include "results/statistics.h"

typedef enum metric_kind {
    METRIC_JOINT,     // of several runs
    METRIC_PARAMETER, // a setting of a run
    METRIC_RESULT,    // of training: the same in every execution of a run
    METRIC_POOLED,    // a time, the geometric mean over the executions of a run
    METRIC_TIME,      // a time of one execution
    METRIC_USE,       // of its devices, in a run whose steps are split into phases
    METRIC_GPU        // reported by the driver
} metric_kind;

// The member that "#" stands for in the name and the key of a metric.
typedef enum metric_over {
    OVER_NOTHING,
    OVER_PHASES,
    OVER_CLASSES,
    OVER_CONFUSION, // "TRUE.SAID", pairs of classes, if there are at most METRIC_CONFUSION classes
    OVER_EPOCHS,    // from 1
    // From 1: each execution's own figure, of a run with several, or one whose seconds per epoch
    // come from turns.
    OVER_EXECUTIONS,
    OVER_TURNS,      // from 1: executions of arms that took turns
    OVER_ACTIVITIES, // of a DataParallel step
    OVER_REPLICAS,
    OVER_STAGES,
    OVER_GPUS
} metric_over;

// The file that a metric is recomputed from.
typedef enum metric_file { FILE_NONE, FILE_STEPS, FILE_PREDICTIONS, FILE_TURNS } metric_file;

// How a cell shows the value: in `format`, after multiplication by `scale`, followed by `sign`.
typedef struct metric_style {
    const char *format; // NULL: seconds, with as many digits as needed; "+": the same with a sign
    double scale;
    const char *sign;
} metric_style;

enum { METRIC_CONFUSION = 20 };

// The counts that a metric was computed over, for its text; `second` is NAN if there is only one.
typedef struct metric_counts {
    double first, second;
} metric_counts;

typedef struct metric_row {
    const char *name; // "accuracy", "step.#"
    const char *unit; // "fraction", "s", "ms", "µs", "x", "bytes", "MHz", "W", "°C", ""
    metric_style style;
    metric_kind kind;
    metric_over over;
    // Keys in the train manifest and in that of the evaluation, which takes precedence if there is
    // one; with FILE_TURNS: in the manifest of time-runs, or the name of a tensor. Without `value`,
    // the metric is the number at the key.
    const char *key, *tested;
    double factor; // multiplies the number; 0 means 1
    double (*value)(const run *r, size_t member);
    interval (*range)(const run *r, size_t member); // 95 %; NULL: none
    // The run is rebuilt from `file` (rebuild.h). The recomputed value is `recompute` of the
    // rebuilt run, or `value` of it if `recompute` is NULL.
    metric_file file;
    double tolerance; // relative, for rounding
    double (*recompute)(const run *rebuilt, size_t member);
    const char *how; // a format for two counts, or for one with "s" unless it is 1
    metric_counts (*counts)(const run *rebuilt, size_t member);
} metric_row;

// Returns all metrics of one run.
const metric_row *metrics_table(size_t *count);
// Returns the row of "accuracy" or "step.load"; NULL if there is none.
const metric_row *metrics_find(const char *name);

// Is it a time, or a share of one? Those are marked if they are simulated.
bool metric_is_time(const metric_row *m);
// The seconds per epoch of a run, which turns give if it took any.
bool metric_is_epoch_time(const metric_row *m);
// Is this time of the run known? A run that was resumed has only that of an epoch, from turns.
bool metric_has_time(const metric_row *m, const run *r);
// Does it have a mean over repeats?
bool metric_has_mean(const metric_row *m);

// STATUS_INPUT if a manifest of the run holds something other than a number where a metric is one.
status metrics_check(const run *r, error *err) MUST_CHECK;
// Returns the number of members in a run: 0 if the run lacks the metric, 1 for OVER_NOTHING.
size_t metric_members(const metric_row *m, const run *r);
// Return its name, with the member in place of "#", and where it was recorded: "FILE: KEY". free()
// them.
char *metric_name(const metric_row *m, const run *r, size_t member) MUST_CHECK;
char *metric_source(const metric_row *m, const run *r, size_t member) MUST_CHECK;
// Returns the place of such a file of a run; its name is NULL if the run has none.
file_place metric_file_of(metric_file file, const run *r);
// Does the manifest of the run's evaluation hold the value?
bool metric_is_tested(const metric_row *m, const run *r);
// Returns the value; NAN if unknown.
double metric_value(const metric_row *m, const run *r, size_t member);
// Returns the value in a run rebuilt from its file (rebuild.h); NAN if unknown.
double metric_recompute(const metric_row *m, const run *rebuilt, size_t member);
// Does the recomputed value match the recorded one, up to rounding? An unknown value on either side
// matches.
bool metric_agrees(const metric_row *m, double value, double recomputed);

#endif
