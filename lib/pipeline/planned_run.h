// SPDX-License-Identifier: MIT
// planned_run.h - the runs of a plan, resolved: folder, tool, data, seeds, keys.
#ifndef LOCKSTEP_PIPELINE_PLANNED_RUN_H
#define LOCKSTEP_PIPELINE_PLANNED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"
#include "pipeline/claims.h"
#include "pipeline/pipeline.h"
#include "pipeline/words.h"

// One seed of an experiment. Each seed has a folder in the store.
typedef struct planned_seed {
    uint64_t seed;
    char *place; // of its link, below ARTIFACTS: "ddp4-epochs=3/seed-42"
    char *own;   // in a submission, whose experiment file has these settings: "ddp4/seed-42"
    char key[SHA256_TEXT_BYTES];
} planned_seed;

typedef struct planned_run {
    yaml_node *entry; // of the plan
    const char *name; // shown in reports
    const char *file; // the experiment file
    words set;        // and its assignments
    experiment e;
    char *tool; // "train-ddp"
    char *data; // the data set's folder
    bool own;   // it is the user's: DATA, or one of import-images (data_locate)
    char *train, *test;
    words device; // "--device", "--math" and their values; empty: the tool chooses
    planned_seed *seeds;
    size_t seed_count;
    bool in_rounds; // its executions count only in `rounds` of planned_runs (counting.h)
} planned_run;

// A plan, its runs, and the report's folder.
typedef struct planned_runs {
    yaml_node *plan; // schema lockstep.plan/1
    planned_run *items;
    size_t count;
    // Host, version and sources of the executions that the times come from; "": not recorded.
    char host[256], version[128], sources[32];
    words rounds;        // that count, the next ones included
    words turns;         // folders of the times of runs that take turns (turns.h)
    size_t taking_turns; // so many runs
    char *joined;        // of a comparison: the names of its runs, "single-ddp4"; NULL: not one
    char *report;        // the report's folder
    char *file;          // the plan's file
    claims names;        // of the folders of links and of the report
} planned_runs;

// Makes the plan for the settings' command, and resolves its runs.
status planned_runs_make(const pipeline *p, planned_runs *runs, error *err) MUST_CHECK;
// With runs->plan, ->report and ->file set, which planned_runs_release frees, reads every
// experiment and checks everything that needs no data: tools, seeds, names. A run without a folder
// of its own goes into `folder`, in one that has its name; so do those that have theirs in
// `question`, the same folder before settings changed its name (naming_suffix). NULL: none.
status planned_runs_resolve(const pipeline *p, planned_runs *runs, const char *question,
                            const char *folder, error *err) MUST_CHECK;
void planned_runs_release(planned_runs *runs);

// Finds the keys of the runs whose data exist; the other keys stay "". With `distinct`, two runs
// with the same key are an error.
status planned_runs_find_keys(pipeline *p, planned_runs *runs, bool distinct,
                              error *err) MUST_CHECK;
// Fetches and shards the runs' data, finds their keys, and puts these into the plan.
status planned_runs_prepare(pipeline *p, planned_runs *runs, bool distinct, error *err) MUST_CHECK;

// Writes the command of a training to `command`: its tool and arguments, without --out. `file` is
// the experiment file; the assignments are added unless the file is `complete`.
void planned_run_command(const pipeline *p, const planned_run *r, const planned_seed *s,
                         const char *file, bool complete, words *command);

// Returns the model's input shape: "3,32,32"; free() it.
char *planned_run_shape(const planned_run *r) MUST_CHECK;

// Runs the stages that make the run's data: fetch, then shard.
status data_prepare(pipeline *p, const planned_run *r, error *err) MUST_CHECK;
// Their commands. `source` is the location of the official files; NULL: their web address.
void data_fetch_command(const planned_run *r, const char *source, words *command);
void data_shard_command(const planned_run *r, words *command);
// Fills in r->data, r->own, r->train and r->test. The folder is DATA; or, for a data set that is
// not official, the experiment file's own folder or data/DATASET, if it holds a data set; or else
// one below ARTIFACTS, which data_prepare fills.
status data_locate(const pipeline *p, planned_run *r, error *err) MUST_CHECK;
// STATUS_INPUT if the folder that DATA names lacks one of its files.
status data_check_own(const pipeline *p, error *err) MUST_CHECK;
// Returns the user's own folder, or NULL.
const char *data_own(const planned_run *r);
// Do the run's data files exist?
bool data_is_there(const planned_run *r);

#endif
