// pipeline.h - from the name of an experiment to its report: the commands.
//
//     settings ─► plan (experiment/plan.h) ─► runs (planned_run.h): folder, tool, data, seeds, keys
//         ─► stages (stage.h): fetch, shard, train, evaluate ─► run store (store.h)
//         ─► plan.yaml with the keys ─► report
//
// Everything is resolved and checked before anything runs, and each training has a folder of its
// own (store.h), so nothing that is finished is touched.
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
    char *artifacts;   // the folder of all outputs
    char *bin;         // the folder of the tools
    char *experiments; // the folder of the experiment files

    const logger *log;
    // One line for the user: "train", "artifacts/ddp4/seed-42/train", "running".
    void (*say)(const char *stage, const char *which, const char *what);
    bool json; // listings are JSON

    // Of this call; zeroed at the start, released by pipeline_release.
    words done;            // folders that stages of this call have seen to
    const char *automatic; // the kind of device that `auto` turned out to be; NULL: not asked yet
    work_folder work;
} pipeline;

// `p` is zeroed but for what the caller sets. Without `tools` the tools lie beside this program;
// without `artifacts` outputs go to "artifacts".
status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) MUST_CHECK;
void pipeline_release(pipeline *p);
// Carries out the command of the settings. The status is the exit code; an empty message means that
// a tool has told its own.
status pipeline_run(pipeline *p, error *err) MUST_CHECK;

// A command of pipeline_run each. planned_run.h describes `planned_runs`.
status pipeline_list_runs(pipeline *p, error *err) MUST_CHECK;
status pipeline_clean_runs(pipeline *p, error *err) MUST_CHECK;

#endif
