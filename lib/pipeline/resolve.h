// SPDX-License-Identifier: MIT
// resolve.h - resolves the runs of a plan: from its entries to tools, data, seeds and keys.
#ifndef LOCKSTEP_PIPELINE_RESOLVE_H
#define LOCKSTEP_PIPELINE_RESOLVE_H

#include <stdbool.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// With runs->plan, ->report and ->file set, which planned_runs_release frees, reads every
// experiment and checks everything that needs no data: tools, seeds, names. A run without a folder
// of its own goes into `folder`, in one that has its name; so do those that have theirs in
// `question`, the same folder before settings changed its name (run_names_suffix). NULL: none.
status resolve_runs(const pipeline *p, planned_runs *runs, const char *question, const char *folder,
                    error *err) MUST_CHECK;

// Finds the keys of the runs whose data exist; the other keys stay "". With `distinct`, two runs
// with the same key are an error.
status resolve_keys(pipeline *p, planned_runs *runs, bool distinct, error *err) MUST_CHECK;
// Fetches and shards the runs' data, finds their keys, puts these into the plan, and reads the
// runs' executions.
status resolve_data_and_keys(pipeline *p, planned_runs *runs, bool distinct, error *err) MUST_CHECK;

#endif
