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
#include "pipeline/pipeline.h"
#include "pipeline/words.h"

// One seed of an experiment. The store has a folder for each.
typedef struct planned_seed {
    uint64_t seed;
    char *place; // where its link stands below ARTIFACTS: "ddp4/seed-42"
    char key[SHA256_TEXT_BYTES];
} planned_seed;

typedef struct planned_run {
    yaml_node *entry; // of the plan
    const char *name; // that reports show
    const char *file; // the experiment file
    words set;        // and its assignments
    experiment e;
    char *tool; // "train-ddp"
    char *data; // the folder that the data set lies in
    char *train, *test;
    words device; // "--device" and where it trains; none: the tool finds out
    planned_seed *seeds;
    size_t seed_count;
    bool once; // executed once, however many rounds there are
} planned_run;

// A plan, its runs, and where the report goes.
typedef struct planned_runs {
    yaml_node *plan; // schema lockstep.plan/1
    planned_run *items;
    size_t count;
    // Where, by which version and from which sources the executions are made that its times come
    // from; "": they do not say.
    char host[256], version[128], sources[32];
    char *report; // the folder of the report
    char *file;   // that the plan is written to
} planned_runs;

// Makes the plan of the settings' command, and resolves its runs.
status planned_runs_make(const pipeline *p, planned_runs *runs, error *err) MUST_CHECK;
// Takes over `plan`, `report` and `file`, reads every experiment, and checks all that can be
// checked without data: tools, seeds, names. `folder` is put in front of the runs' own; "" for
// none.
status planned_runs_resolve(const pipeline *p, planned_runs *runs, const char *folder,
                            error *err) MUST_CHECK;
void planned_runs_release(planned_runs *runs);

// Finds the keys of the runs whose data are there; those of the others stay "". With `distinct`,
// two runs of one key are refused.
status planned_runs_find_keys(pipeline *p, planned_runs *runs, bool distinct,
                              error *err) MUST_CHECK;
// Fetches and shards the data of the runs, finds their keys, and puts these into the plan.
status planned_runs_prepare(pipeline *p, planned_runs *runs, bool distinct, error *err) MUST_CHECK;

// The command of a training: its tool and arguments, without --out. `file` is the experiment file;
// its assignments are added unless `complete`, when the file has them already.
status planned_run_command(const pipeline *p, const planned_run *r, const planned_seed *s,
                           const char *file, bool complete, words *command, error *err) MUST_CHECK;

// The shape of the images that the model takes: "3,32,32"; free() it.
char *planned_run_shape(const planned_run *r, error *err) MUST_CHECK;

// The stages that the run's data comes from: fetches, then shards.
status data_prepare(pipeline *p, const planned_run *r, error *err) MUST_CHECK;
// Their commands. `source` is where the official files are; NULL: their address.
status data_fetch_command(const planned_run *r, const char *source, words *command,
                          error *err) MUST_CHECK;
status data_shard_command(const planned_run *r, words *command, error *err) MUST_CHECK;
// Fills in r->data, r->train and r->test.
status data_locate(const pipeline *p, planned_run *r, error *err) MUST_CHECK;
// Are they there, whole?
bool data_is_there(const planned_run *r);

#endif
