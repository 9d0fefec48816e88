// SPDX-License-Identifier: MIT
// data_stages.h - where a run's data lie, and the stages that make them: fetch, then shard.
#ifndef LOCKSTEP_PIPELINE_DATA_STAGES_H
#define LOCKSTEP_PIPELINE_DATA_STAGES_H

#include <stdbool.h>

#include "base/error.h"
#include "pipeline/planned_runs.h"

// Runs the stages that make the run's data: fetch, then shard.
status data_prepare(pipeline *p, const planned_run *r, error *err) MUST_CHECK;
// Their commands. `source` is the location of the official files; NULL: their web address.
void data_fetch_command(const planned_run *r, const char *source, strvec *command);
void data_shard_command(const planned_run *r, strvec *command);
// Fills in r->data, r->own, r->train and r->test. The folder is DATA; or, for a data set that is
// not official, the experiment file's own folder or data/DATASET, if it holds a data set; or else
// one below ARTIFACTS, which data_prepare fills.
status data_locate(const pipeline *p, planned_run *r, error *err) MUST_CHECK;
// STATUS_INPUT if the folder that DATA names lacks one of the files of import-images.
status own_data_check(const settings *s, error *err) MUST_CHECK;
// Returns the user's own folder, or NULL.
const char *data_own(const planned_run *r);
// Do the run's data files exist?
bool data_is_there(const planned_run *r);
// Would data_prepare download them?
bool data_is_download(const pipeline *p, const planned_run *r);
// Refuses a location of official files that a setting names and that does not exist, whether or not
// the data are already there.
status data_check_sources(const pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
