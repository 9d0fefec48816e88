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
#include "base/strvec.h"

typedef struct catalog_entry {
    char *name;   // base name without .yaml
    char *path;   // relative to the current folder, if the root is: "experiments/R004/workers.yaml"
    char *schema; // text of the file's `schema`: "lockstep.study/1"; "" if it has none
} catalog_entry;

typedef struct catalog {
    catalog_entry *items; // in the order of the folders; of one folder, sorted by path
    size_t count, capacity;
    char *roots; // for messages: "'experiments' and '/usr/share/lockstep/experiments'"
    strvec seen; // the folders: their real paths, if they exist
} catalog;

// Reads all *.yaml below the folder `root`, of any kind, each only up to its schema. Skips hidden
// files and folders, and links to folders. STATUS_INPUT if a folder or file cannot be read, or if
// two experiments or studies have the same name: the message names both.
status catalog_read(catalog *c, const char *root, error *err) MUST_CHECK;
// Adds those of another folder; the same again adds nothing. Experiments and studies whose names
// are there already are left out. Release the catalogue in any case.
status catalog_add(catalog *c, const char *folder, error *err) MUST_CHECK;
void catalog_release(catalog *c);

// The folders in which a name is sought that no nearer folder has: 0 is `experiments` in the
// current folder, 1 the installed one (base/plugin.h). *folder is NULL if there is no such folder;
// free() it.
enum { CATALOG_PLACES = 2 };
status catalog_place(int which, char **folder, error *err) MUST_CHECK;

// Reads all of these, so that an experiment in the current folder hides the installed one of its
// name. Without any such folder the catalogue is empty.
status catalog_read_places(catalog *c, error *err) MUST_CHECK;

// Returns the experiment or study of that name, or NULL.
const catalog_entry *catalog_look_up(const catalog *c, const char *name);
// The same. STATUS_INPUT, with the nearest name and a list of all, if there is none.
status catalog_find(const catalog *c, const char *name, const catalog_entry **found,
                    error *err) MUST_CHECK;

// Both return false for models, claims and other files.
bool catalog_is_experiment(const catalog_entry *entry);
bool catalog_is_study(const catalog_entry *entry);

#endif
