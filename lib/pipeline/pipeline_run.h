// SPDX-License-Identifier: MIT
// pipeline_run.h - from an experiment's name to its report.
//
//     settings ─► plan (command_plan.h) ─► runs (resolve.h): folder, tool, data, seeds, keys
//         ─► stages (stage.h): fetch, shard, train, evaluate ─► run store (store.h)
//         ─► plan.yaml with the keys ─► report
//
// Everything is resolved and checked before anything runs, and each training has a separate folder
// (store.h), so finished runs are never changed.
#ifndef LOCKSTEP_PIPELINE_PIPELINE_RUN_H
#define LOCKSTEP_PIPELINE_PIPELINE_RUN_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Executes the runs of the settings' command, an experiment, a comparison, a question or a
// submission, and makes their report; a dry run only says what it would do. The status is the exit
// code; an empty message means that a tool has printed one. `runs` is zeroed: release it even after
// a failure.
status pipeline_run(pipeline *p, planned_runs *runs, error *err) MUST_CHECK;

#endif
