// SPDX-License-Identifier: MIT
// planned_runs.h - the runs of a plan, resolved: folder, tool, data, seeds, keys.
#ifndef LOCKSTEP_PIPELINE_PLANNED_RUNS_H
#define LOCKSTEP_PIPELINE_PLANNED_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"
#include "pipeline/owned_names.h"
#include "pipeline/pipeline.h"
#include "pipeline/store.h"

// One seed of an experiment. Each seed has a folder in the store.
typedef struct planned_seed {
    uint64_t seed;
    char *place; // of its link, below ARTIFACTS: "ddp4-epochs=3/seed-42"
    char *own;   // in a submission, whose experiment file has these settings: "ddp4/seed-42"
    char key[SHA256_TEXT_BYTES];
    execution_list kept; // its executions in the store, as they were when last read
} planned_seed;

typedef struct planned_run {
    yaml_node *entry; // of the plan
    const char *name; // shown in reports
    const char *file; // the experiment file
    strvec set;       // and its assignments
    experiment e;
    char *tool; // "train-ddp"
    char *data; // the data set's folder
    bool own;   // it is the user's: DATA, or one of import-images (data_locate)
    char *train, *test;
    strvec device; // "--device", "--math" and their values; empty: the tool chooses
    planned_seed *seeds;
    size_t seed_count;
} planned_run;

// A plan, its runs, and the report's folder.
typedef struct planned_runs {
    yaml_node *plan; // schema lockstep.plan/1
    planned_run *items;
    size_t count;
    // Host, version and sources of the executions that the times come from; "": not recorded.
    char host[256], version[128], sources[32];
    strvec turns;        // folders of the times of runs that take turns (turn_stages.h)
    size_t taking_turns; // so many runs
    char *joined;        // of a comparison: the names of its runs, "single-ddp4"; NULL: not one
    char *report;        // the report's folder
    char *file;          // the plan's file
    owned_names names;   // of the folders of links and of the report
} planned_runs;

void planned_runs_release(planned_runs *runs);

// Reads the seed's executions again.
status planned_seed_look(const pipeline *p, planned_seed *s, error *err) MUST_CHECK;

// Writes the command of a training to `command`: its tool and arguments, without --out. `file` is
// the experiment file; the assignments are added unless the file is `complete`.
void planned_run_command(const pipeline *p, const planned_run *r, const planned_seed *s,
                         const char *file, bool complete, strvec *command);

// Adds the words that start the ranks of its training, to be put before its tool: of LAUNCHER, if
// its strategy is ddp with several ranks.
void planned_run_launcher(const pipeline *p, const planned_run *r, strvec *launcher);

// Writes the command of the evaluation of FOLDER/train/model.st.zst with the run's views.
void planned_run_evaluation(const planned_run *r, const char *folder, const char *out,
                            strvec *command);

// Returns the model's input shape: "3,32,32"; free() it.
char *planned_run_shape(const planned_run *r) MUST_CHECK;

#endif
