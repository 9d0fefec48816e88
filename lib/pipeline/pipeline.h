// SPDX-License-Identifier: MIT
// pipeline.h - the commands, which lead from an experiment's name to its report.
//
//     settings ─► plan (experiment/plan.h) ─► runs (planned_run.h): folder, tool, data, seeds, keys
//         ─► stages (stage.h): fetch, shard, train, evaluate ─► run store (store.h)
//         ─► plan.yaml with the keys ─► report
//
// Everything is resolved and checked before anything runs, and each training has a separate folder
// (store.h), so finished runs are never changed.
#ifndef LOCKSTEP_PIPELINE_PIPELINE_H
#define LOCKSTEP_PIPELINE_PIPELINE_H

#include "base/error.h"
#include "base/log.h"
#include "pipeline/settings.h"

typedef struct work_folder {
    char *path; // NULL: not made yet
    int lock;
} work_folder;

typedef struct pipeline {
    const settings *settings;
    // Filled in by pipeline_open.
    char *artifacts; // the folder of all outputs
    char *bin;       // the folder of the tools

    const logger *log;
    // One line for the user: "train", "artifacts/ddp4/seed-42/train", "running".
    void (*say)(const char *stage, const char *which, const char *what);
    // Asks the user a question; true: yes. NULL: there is nobody to ask.
    bool (*ask)(const char *question);
    bool json; // listings are JSON

    // State of this call; zeroed at the start, released by pipeline_release.
    words done;            // folders that stages of this call have handled
    const char *automatic; // the kind of device that `auto` resolved to; NULL: not yet determined
    work_folder work;
} pipeline;

// `p` is zeroed except for the caller's fields. `tools` defaults to the folder of this program,
// `artifacts` to "artifacts".
status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) MUST_CHECK;
void pipeline_release(pipeline *p);
// Executes the settings' command. The status is the exit code; an empty message means that a tool
// has printed one.
status pipeline_run(pipeline *p, error *err) MUST_CHECK;

// Commands of pipeline_run.
status pipeline_list_runs(pipeline *p, error *err) MUST_CHECK;
status pipeline_clean_runs(pipeline *p, error *err) MUST_CHECK;
status pipeline_verify(pipeline *p, error *err) MUST_CHECK;
status pipeline_grade(pipeline *p, error *err) MUST_CHECK;

#endif
