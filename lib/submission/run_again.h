// SPDX-License-Identifier: MIT
// run_again.h - writes a submission's script: every command from the data to the report, and the
// comparison of the models.
#ifndef LOCKSTEP_SUBMISSION_RUN_AGAIN_H
#define LOCKSTEP_SUBMISSION_RUN_AGAIN_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Writes FOLDER/run-again.sh. `models` holds the content hash of every run's and seed's model, in
// order.
status run_again_write(const pipeline *p, const planned_runs *runs, const char *folder,
                       const strvec *models, error *err) MUST_CHECK;

// Returns the settings for the data's location, as a submission's README lists them: "`A=` `B=`";
// "" if nothing is fetched. free() it.
char *run_again_sources(const planned_runs *runs) MUST_CHECK;

#endif
