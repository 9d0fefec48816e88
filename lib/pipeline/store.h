// store.h - the run store: every training has a folder that is named by its key.
//
//     ARTIFACTS/runs/KEY12/experiment.yaml, models/   the experiment, every default written out
//     ARTIFACTS/runs/KEY12/N/{train,evaluate}/        its executions: N = 1, 2, …
//     ARTIFACTS/EXPERIMENT/seed-S                     a link to the current execution
//
// KEY12 is the first 12 digits of the train stage's key, which is made of all that decides the bits
// of the model (manifest.h). So other settings give another folder, settings that return find their
// run, and experiments that are one run share it. The same key is executed again only to be timed:
// its executions end in the same model.
#ifndef LOCKSTEP_PIPELINE_STORE_H
#define LOCKSTEP_PIPELINE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"

enum { STORE_KEY_DIGITS = 12 };

typedef struct execution {
    int number;
    char *folder;     // ARTIFACTS/runs/KEY12/N
    yaml_node *train; // the manifest of the training; NULL: not finished
    bool finished;    // trained and evaluated
    bool complete;    // the training has a manifest; where it is not finished, outputs are gone
    bool saved;       // it has none, and a state is there to go on from
} execution;

// In the order of their numbers. A zeroed struct is an empty list.
typedef struct execution_list {
    execution *items;
    size_t count, capacity;
} execution_list;

// "ARTIFACTS/runs/KEY12", and "ARTIFACTS/runs/KEY12/N"; free() them.
char *store_folder(const char *artifacts, const char *key, error *err) MUST_CHECK;
char *store_execution_folder(const char *artifacts, const char *key, int number,
                             error *err) MUST_CHECK;

// Reads the executions of a run; an absent folder has none. STATUS_FAILED where the folder holds a
// run of another key that begins with the same digits.
status store_read(const char *artifacts, const char *key, execution_list *list,
                  error *err) MUST_CHECK;
void store_release(execution_list *list);
// Are the finished executions of a run still what its key says? STATUS_FINDING names one whose
// settings, as its manifest has them, give another key.
status store_check_keys(const char *artifacts, const char *key, error *err) MUST_CHECK;
// The number that a new execution gets.
int store_next_number(const execution_list *list);

// The keys (KEY12) of all runs in the store, sorted: free() each and the array. No store: none.
status store_keys(const char *artifacts, char ***keys, size_t *count, error *err) MUST_CHECK;
void store_keys_free(char **keys, size_t count);
// The one run in the store whose key begins with `digits`, which may be the whole key; *key (KEY12)
// is free()d by the caller. STATUS_INPUT where there is none, or more than one.
status store_find(const char *artifacts, const char *digits, char **key, error *err) MUST_CHECK;

// STATUS_FAILED while a stage fills a folder of this execution (ARTIFACTS/runs/KEY12/N): stages and
// train tools hold locks there.
status store_check_unused(const char *folder, error *err) MUST_CHECK;

// Writes FOLDER/NAME.yaml, an experiment that needs no other settings, and its model as
// FOLDER/models/MODEL.yaml. `parameters` are those of a train manifest; what is no part of an
// experiment there is left out.
status store_write_experiment(const char *folder, const char *name, const yaml_node *parameters,
                              error *err) MUST_CHECK;

// Makes ARTIFACTS/`place` a link to an execution, unless it is one already. A link to another one
// is replaced at once; anything else in its place is STATUS_FAILED.
status store_link(const char *artifacts, const char *place, const char *key, int number,
                  error *err) MUST_CHECK;

// A folder of an earlier version, at ARTIFACTS/`place` where a link belongs now, moves into the
// store, under the key that its manifest gives it; an unfinished one goes aside, as
// PLACE.unfinished. *told describes it in words; NULL: there was no such folder. free() it.
status store_adopt(const char *artifacts, const char *place, char **told, error *err) MUST_CHECK;
// Completes one adoption that was interrupted between the two places, whatever run it is of. *told
// as above; NULL: there is none.
status store_finish_adoption(const char *artifacts, char **told, error *err) MUST_CHECK;

#endif
