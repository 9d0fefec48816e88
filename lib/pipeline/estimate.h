// SPDX-License-Identifier: MIT
// estimate.h - estimates how long a plan's runs take on this machine.
//
// A run that was executed here before is expected to take as long again. Any other run gets a
// trial: two epochs on drawn images, the second of which gives the time per sample.
#ifndef LOCKSTEP_PIPELINE_ESTIMATE_H
#define LOCKSTEP_PIPELINE_ESTIMATE_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

typedef struct run_estimate {
    double train, evaluate; // seconds of one execution; NAN: unknown
    double left;            // fraction of the first execution still to do; 0: finished
    char why[256];          // reason, if unknown
} run_estimate;

// Fills one estimate per run, for its first seed; the caller allocates `estimates` for all runs of
// the plan.
status estimate_runs(pipeline *p, const planned_runs *runs, run_estimate *estimates,
                     error *err) MUST_CHECK;

// Returns the seconds of a round: all seeds of all runs. Runs of unknown time count as 0.
double estimate_round(const planned_runs *runs, const run_estimate *estimates);

#endif
