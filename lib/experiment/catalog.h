// catalog.h - finding experiment files by name, in whatever folder below `experiments` they lie.
//
// A folder of published experiments (experiments/R004) is part of the catalogue because it is
// there. Names of experiments and studies are unique over all folders.
#ifndef LOCKSTEP_EXPERIMENT_CATALOG_H
#define LOCKSTEP_EXPERIMENT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct catalog_entry {
    char *name;   // base name without .yaml
    char *path;   // from the current folder, as the root was given: "experiments/R004/workers.yaml"
    char *schema; // text of the file's `schema`: "lockstep.study/1"; "" where it has none
} catalog_entry;

typedef struct catalog {
    catalog_entry *items; // sorted by path
    size_t count, capacity;
    char *root; // for messages
} catalog;

// Reads all *.yaml below the folder `root`, of any kind; of each file no more than it takes to find
// its schema. Hidden files and folders, and links to folders, are passed over. STATUS_INPUT where a
// folder or file cannot be read, and where two experiments or studies have one name: it names both.
status catalog_read(catalog *c, const char *root, error *err) MUST_CHECK;
void catalog_release(catalog *c);

// The experiment or study of that name. STATUS_INPUT, with the nearest name and all there are,
// where there is none. *found points into the catalogue.
status catalog_find(const catalog *c, const char *name, const catalog_entry **found,
                    error *err) MUST_CHECK;

// Which of the two is it? Both are false of models, claims and whatever else.
bool catalog_is_experiment(const catalog_entry *entry);
bool catalog_is_study(const catalog_entry *entry);

#endif
