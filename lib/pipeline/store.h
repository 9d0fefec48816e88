// SPDX-License-Identifier: MIT
// store.h - the run store: every training has a folder named by its key.
//
//     ARTIFACTS/runs/KEY12/experiment.yaml, models/   the experiment, with all defaults
//     ARTIFACTS/runs/KEY12/N/{train,evaluate}/        its executions: N = 1, 2, …
//     ARTIFACTS/EXPERIMENT[-SETTINGS]/seed-S          a link to the current execution
//
// While a training runs, the link stays on a finished execution.
//
// KEY12 is the first 12 digits of the train stage's key, a hash of everything that determines the
// bits of the model (manifest.h). So other settings give another folder, repeated settings find
// their run, and experiments that are the same run share it. A key is executed again only for
// timing: all its executions end in the same model.
#ifndef LOCKSTEP_PIPELINE_STORE_H
#define LOCKSTEP_PIPELINE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"

enum { STORE_KEY_DIGITS = 12 };

typedef struct execution {
    int number;
    char *folder;     // ARTIFACTS/runs/KEY12/N
    yaml_node *train; // the training's manifest; NULL: not finished
    bool finished;    // trained and evaluated, with any views
    unsigned views;   // bit v: evaluated with the tta_kind v (data/tta.h)
    bool complete;    // the training has a manifest; if not `finished`, outputs are missing
    bool saved;       // it has none, but a state to resume from
} execution;

// Did its training keep states in its course (STATES=N)?
bool store_has_states(const execution *x);

// Executions, sorted by number. A zeroed struct is an empty list.
typedef struct execution_list {
    execution *items;
    size_t count, capacity;
} execution_list;

// Return "ARTIFACTS/runs/KEY12" and "ARTIFACTS/runs/KEY12/N"; free() them.
char *store_folder(const char *artifacts, const char *key) MUST_CHECK;
char *store_execution_folder(const char *artifacts, const char *key, int number) MUST_CHECK;

// Reads the executions of a run; none if the folder does not exist. STATUS_FAILED if the folder
// holds a run with another key that begins with the same digits.
status store_read(const char *artifacts, const char *key, execution_list *list,
                  error *err) MUST_CHECK;
void store_release(execution_list *list);
// Checks that a run's finished executions still match its key. STATUS_FINDING names one whose
// settings, in its manifest, give another key.
status store_check_keys(const char *artifacts, const char *key, error *err) MUST_CHECK;
// Returns the number for a new execution.
int store_next_number(const execution_list *list);

// Adds the keys (KEY12) of all runs in the store, sorted. None if there is no store.
status store_keys(const char *artifacts, strvec *keys, error *err) MUST_CHECK;
// Finds the only run in the store whose key begins with `digits`, which may be the whole key;
// free() *key (KEY12). STATUS_INPUT if there is none, or more than one.
status store_find(const char *artifacts, const char *digits, char **key, error *err) MUST_CHECK;

// STATUS_FAILED while a stage is filling a folder of this execution (ARTIFACTS/runs/KEY12/N):
// stages and train tools hold locks there.
status store_check_unused(const char *folder, error *err) MUST_CHECK;

// Writes FOLDER/NAME.yaml, an experiment that needs no other settings, and its model as
// FOLDER/models/MODEL.yaml. `parameters` are those of a train manifest; keys that do not belong to
// an experiment are left out. A file that holds the same is not written. *changed: one held
// something else.
status store_write_experiment(const char *folder, const char *name, const yaml_node *parameters,
                              bool *changed, error *err) MUST_CHECK;
// The same for a run, ARTIFACTS/runs/KEY12, from the train manifest of one of its executions.
status store_keep_experiment(const char *folder, const yaml_node *train, bool *changed,
                             error *err) MUST_CHECK;

// Puts `run.KEY` into the manifest of a finished training, in an execution's folder; NULL takes it
// out. `run` is no part of the run's key.
status store_note(const char *folder, const char *key, const char *value, error *err) MUST_CHECK;

#endif
