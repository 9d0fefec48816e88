// run_again.h - the script of a submission: every command from the data to the report, and the
// comparison of the models.
#ifndef LOCKSTEP_PIPELINE_RUN_AGAIN_H
#define LOCKSTEP_PIPELINE_RUN_AGAIN_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

// Writes FOLDER/run-again.sh. `models` holds the content hash of the model of every run and seed,
// in their order.
status run_again_write(const pipeline *p, const planned_runs *runs, const char *folder,
                       const words *models, error *err) MUST_CHECK;

// The settings that say where the data is, as the README of a submission names them: "`A=` `B=`";
// free() it.
char *run_again_sources(const pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
