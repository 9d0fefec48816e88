// SPDX-License-Identifier: MIT
// pipeline.h - a call of the pipeline: its settings, folders, and whom it talks to. Every command
// gets one (pipeline_run.h, kept_runs.h).
#ifndef LOCKSTEP_PIPELINE_PIPELINE_H
#define LOCKSTEP_PIPELINE_PIPELINE_H

#include "base/cli.h"
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
    // Finds a tool that answers in this process; NULL: it is started instead.
    cli_function *(*find_tool)(const char *name);
    bool json;     // listings are JSON
    bool terminal; // a person watches: every stage leaves one line, about what came out

    // State of this call; zeroed at the start, released by pipeline_release.
    strvec done;           // folders that stages of this call have handled
    const char *automatic; // the kind of device that `auto` resolved to; NULL: not yet determined
    work_folder work;
} pipeline;

// `p` is zeroed except for the caller's fields. `tools` defaults to the folder of this program,
// `artifacts` to "artifacts".
status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) MUST_CHECK;
void pipeline_release(pipeline *p);

// A folder for temporary files of this call: ARTIFACTS/.work-RANDOM, locked for the duration of the
// call; a call that was killed leaves it behind, and the next one removes it.

// Makes the folder p->work.path, once per call.
status work_open(pipeline *p, error *err) MUST_CHECK;
// Removes the folder, if one was made.
void work_close(pipeline *p);
// Removes the folders of calls that were killed. Files that cannot be removed stay.
void work_remove_old(const pipeline *p);

#endif
