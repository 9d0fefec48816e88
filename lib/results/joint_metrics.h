// SPDX-License-Identifier: MIT
// joint_metrics.h - every kind of figure that a report shows of several runs, one row each: of two
// groups compared, of a step of a plan, of a prediction. Figures of one run are in metrics.h; their
// means over repeats are called mean_NAME.
#ifndef LOCKSTEP_RESULTS_JOINT_METRICS_H
#define LOCKSTEP_RESULTS_JOINT_METRICS_H

#include "results/compare.h"
#include "results/metrics.h"
#include "results/planned.h"
#include "results/scaling.h"

// The subject of a joint metric.
typedef enum joint_of {
    JOINT_COMPARISON,
    JOINT_STEP,    // a comparison of a ladder or a study
    JOINT_VARIANT, // one variant of a study
    JOINT_PREDICTION,
    JOINT_PROJECTION, // a prediction with a device for each rank
    JOINT_RUNS        // of an entry of a plan
} joint_of;

struct figure; // results/figures.h

typedef struct joint_metric {
    metric_row head; // its name, unit and style
    joint_of of;
    const char *part;                          // the metric of the runs that it is computed from
    estimate (*value)(const struct figure *f); // of one without row and value
    bool always; // listed also without a value; the note gives the reason
} joint_metric;

const joint_metric *joint_metrics_table(size_t *count);
// Finds the row of a figure's name: of a run, a mean, or a joint one. NULL if there is none.
const metric_row *joint_metrics_find(const char *name);

#endif
