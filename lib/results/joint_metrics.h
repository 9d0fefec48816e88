// joint_metrics.h - every kind of number that a report shows of several runs, a row each: of two
// groups side by side, of a step of a plan, of a prediction. Those of a run are in metrics.h; the
// means of those over repeats are called mean_NAME.
#ifndef LOCKSTEP_RESULTS_JOINT_METRICS_H
#define LOCKSTEP_RESULTS_JOINT_METRICS_H

#include "results/compare.h"
#include "results/metrics.h"
#include "results/planned.h"
#include "results/prediction.h"

// What it is a number of.
typedef enum joint_of {
    JOINT_COMPARISON,
    JOINT_STEP,    // a comparison of a ladder or a study
    JOINT_VARIANT, // of a study alone
    JOINT_PREDICTION,
    JOINT_PROJECTION, // a prediction with a device for each rank
    JOINT_RUNS        // of an entry of a plan
} joint_of;

// What the numbers of that kind are computed from, and what is said beside them.
typedef struct joint_subject {
    joint_of of;
    const char *owner;
    const group *runs, *against;      // against: NULL without
    const comparison *compared;       // or
    const prediction *predicted;      // or
    estimate share;                   // of the load
    bool simulated;                   // its times
    const char *note, *accuracy_note; // beside a time, beside an accuracy
    const char *source;               // "FILE: KEY"; "" without
} joint_subject;

typedef struct joint_metric {
    metric_row head; // of kind METRIC_JOINT: how it is called and shown
    joint_of of;
    const char *part; // the metric of the runs that it is made of
    bool always;      // listed also without a value: the note says why there is none
    estimate (*value)(const joint_subject *s);
} joint_metric;

const joint_metric *joint_metrics_table(size_t *count);
// The row of any name of a figure: one of a run, a mean, or one of these. NULL when there is none.
const metric_row *joint_metrics_find(const char *name);

#endif
