// SPDX-License-Identifier: MIT
// kept_runs.h - what the kept runs are, and in what they differ from their experiments' files, for
// the commands that list and remove them (kept_runs_commands.h).
#ifndef LOCKSTEP_PIPELINE_KEPT_RUNS_H
#define LOCKSTEP_PIPELINE_KEPT_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "experiment/catalog.h"
#include "experiment/experiment.h"
#include "pipeline/pipeline.h"

typedef struct named_experiment {
    char *name;   // of the file, or of the folder of data that it is in
    experiment e; // as in the file
} named_experiment;

// A zeroed struct has no files.
typedef struct named_experiments {
    catalog files;
    named_experiment *items;
    size_t count, capacity;
} named_experiments;

// Reads the experiments that can be named here: those of catalog_read_places, and those next to
// data. A file that cannot be read is left out, and so are all if a folder cannot be read: runs are
// listed without them, too. Call named_experiments_release in any case.
void named_experiments_read(named_experiments *o);
void named_experiments_release(named_experiments *o);

typedef struct kept_run {
    const char *key; // KEY12
    // `differs`: from the experiment's file. `date`: of the newest execution, or of what an
    // unfinished one wrote last; UTC, ISO 8601.
    char name[80], differs[400], date[32];
    double accuracy, seconds;      // NAN: unknown
    size_t executions, unfinished; // finished ones, and others
    uint64_t bytes;
} kept_run;

// Reads a run in the store; one that cannot be used has the reason in `differs`.
void kept_read(const pipeline *p, const named_experiments *known, const char *key, kept_run *w);
// Adds the keys (KEY12) of the runs whose first digits the settings name, or of all. STATUS_INPUT
// if a word does not match exactly one.
status kept_select(const pipeline *p, strvec *keys, error *err) MUST_CHECK;
// Writes "1.2 MiB".
void kept_show_size(uint64_t bytes, char text[16]);

#endif
