// SPDX-License-Identifier: MIT
// catalog.h - finds experiment files by name in all folders below `experiments`.
//
// A folder of published experiments (experiments/R004) belongs to the catalogue without being
// listed anywhere. Names of experiments and studies are unique across all folders.
#ifndef LOCKSTEP_EXPERIMENT_CATALOG_H
#define LOCKSTEP_EXPERIMENT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct catalog_entry {
    char *name;   // base name without .yaml
    char *path;   // relative to the current folder, if the root is: "experiments/R004/workers.yaml"
    char *schema; // text of the file's `schema`: "lockstep.study/1"; "" if it has none
} catalog_entry;

typedef struct catalog {
    catalog_entry *items; // sorted by path
    size_t count, capacity;
    char *root; // for messages
} catalog;

// Finds the folder of the experiments: `experiments` in the current folder, or else the installed
// one. If neither exists, *root is the former, for messages. free() it.
status catalog_find_root(char **root, error *err) MUST_CHECK;

// Reads all *.yaml below the folder `root`, of any kind, each only up to its schema. Skips hidden
// files and folders, and links to folders. STATUS_INPUT if a folder or file cannot be read, or if
// two experiments or studies have the same name: the message names both.
status catalog_read(catalog *c, const char *root, error *err) MUST_CHECK;
void catalog_release(catalog *c);

// Finds the experiment or study of that name. STATUS_INPUT, with the nearest name and a list of
// all, if there is none. *found points into the catalogue.
status catalog_find(const catalog *c, const char *name, const catalog_entry **found,
                    error *err) MUST_CHECK;

// Finds the file that a word on a command line stands for: a path, a file that exists, or the name
// of an experiment in the catalogue above. free() *path.
status catalog_find_file(const char *word, char **path, error *err) MUST_CHECK;

// Both return false for models, claims and other files.
bool catalog_is_experiment(const catalog_entry *entry);
bool catalog_is_study(const catalog_entry *entry);

#endif
