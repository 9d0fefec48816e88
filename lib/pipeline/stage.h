// SPDX-License-Identifier: MIT
// stage.h - a stage: a tool, its arguments and the folder that it fills. It runs unless it is done.
//
// A stage is done if its manifest is complete and has the key that the tool prints for these
// arguments (--print-key): a hash of its inputs' contents and the parameters that affect its
// outputs. The tool writes the manifest last, so a stage that was killed is not done.
#ifndef LOCKSTEP_PIPELINE_STAGE_H
#define LOCKSTEP_PIPELINE_STAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"
#include "pipeline/pipeline.h"

typedef struct stage {
    const char *name;       // its task: "train"
    const char *dir;        // the folder that it fills
    const char *shown;      // the folder's name in messages; NULL: `dir`
    const char *title;      // what it works on, at a terminal: "ddp4, seed 43"; NULL: `shown`
    const char *place;      // while it runs there: "run 7 of 15"; NULL: none
    double after;           // seconds of work expected after it, for the terminal; 0: not known
    const char *key;        // NULL: from the tool
    const char *reason;     // why it runs, for the user; NULL: determined from the folder
    const strvec *command;  // the tool's name, without a folder, and its arguments
    const strvec *launcher; // starts the tool as several processes; NULL: none
    bool quiet;             // no messages, and the tool's output is dropped
    bool drop_output;       // only drop the tool's output
    bool beside;        // others run at the same time: no moving line, and a last one that stays
    const strvec *more; // additional arguments for the run ("--resume"), not part of the key
} stage;

// Runs the stage unless it is done, and reports it. If another call is running the same stage,
// waits and uses its result. Skips a folder that this call has handled before.
status stage_run(pipeline *p, const stage *s, error *err) MUST_CHECK;

// Checks that files can be made below ARTIFACTS. If not, the message names the setting.
status stage_check_place(const pipeline *p, error *err) MUST_CHECK;

// Adds --device and --math for a tool that repeats what the manifest `root` describes, with the
// same arithmetic (`parameters.backend`). `device` NULL: a GPU if only GPUs have that arithmetic,
// else the CPU.
void stage_add_devices(strvec *command, const yaml_node *root, const char *device);

#endif
