// SPDX-License-Identifier: MIT
// origins.h - the experiment files that kept runs come from, for the list of runs.
#ifndef LOCKSTEP_PIPELINE_ORIGINS_H
#define LOCKSTEP_PIPELINE_ORIGINS_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "experiment/catalog.h"
#include "experiment/experiment.h"

typedef struct origin {
    char *name;   // of the file, or of the folder of data that it is in
    experiment e; // as in the file
} origin;

// A zeroed struct has no files.
typedef struct origins {
    catalog files;
    origin *items;
    size_t count, capacity;
} origins;

// Reads the experiments that can be named here: those of catalog_read_places, and those next to
// data. A file that cannot be read is left out, and so are all if a folder cannot be read: runs are
// listed without them, too. Call origins_release in any case.
void origins_read(origins *o);
void origins_release(origins *o);

// Writes to `text` the keys in which the run `name` with these parameters (of its manifest) differs
// from the file of that name: "epochs 10 → 3, seed 5". No file has the name of a rung or a variant:
// these are compared with the nearest experiment on the same data, whose name precedes the keys in
// parentheses.
void origins_describe(const origins *o, const char *name, const yaml_node *parameters, char *text,
                      size_t size);

#endif
