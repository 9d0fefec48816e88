// estimate.h - how long the runs of a plan take on this machine.
//
// A run that was executed here before takes as long again. Any other one is tried: two epochs on
// drawn images, whose second gives the time of a sample.
#ifndef LOCKSTEP_PIPELINE_ESTIMATE_H
#define LOCKSTEP_PIPELINE_ESTIMATE_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

typedef struct run_estimate {
    double train, evaluate; // seconds of one execution; NAN: not known
    double left;            // the share of the first execution that is to be done: 0 when finished
    char why[256];          // where it is not known
} run_estimate;

// One for each run, of its first seed; memory_new'd by the caller for all runs of the plan.
status estimate_runs(pipeline *p, const planned_runs *runs, run_estimate *estimates,
                     error *err) MUST_CHECK;

// Seconds of a round of all runs but those that are executed once: every seed. Runs whose time is
// not known count nothing.
double estimate_round(const planned_runs *runs, const run_estimate *estimates);

#endif
