// SPDX-License-Identifier: MIT
// run_series.h - the steps and epochs of finished runs as one table for other programs, in CSV or
// JSON.
#ifndef LOCKSTEP_TRAIN_RUN_SERIES_H
#define LOCKSTEP_TRAIN_RUN_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"
#include "train/timeline.h"

struct text;

typedef struct run_series {
    const char *name;       // the caller's name for the run; not copied
    char *steps, *manifest; // the files that it was read from; `manifest` may be NULL
    timeline timeline;
    double *losses; // of epochs, for learning_rate; NULL: none
    size_t loss_count;
    yaml_node *root;          // of the manifest, or NULL
    const yaml_node *epochs;  // its results.epochs, or NULL
    uint64_t steps_per_epoch; // 0: unknown; then no epochs or learning rates
    experiment updates;       // from its parameters (experiment_read_updates)
} run_series;

// Finds a file of the run at `path`: FOLDER/NAME or FOLDER/train/NAME if that is a folder; else it
// is `path` itself. A new string, free() it. STATUS_INPUT if the folder holds neither.
status run_series_find_file(const char *path, const char *name, char **found,
                            error *err) MUST_CHECK;

// Reads the run at `path`: a train tool's output folder, a folder that holds train/, or a
// steps.st.zst; without a manifest next to it, it has no epochs. STATUS_INPUT if it is none of
// these. `max_bytes` as for tensor_file_read. Call run_series_release even after a failure.
status run_series_read(run_series *s, const char *path, uint64_t max_bytes, error *err) MUST_CHECK;
void run_series_release(run_series *s);

// The learning rate of a step (from 0), and the value of an epoch (from 0) under `key` in
// `results.epochs` of the manifest; NAN if unknown.
double run_series_rate(const run_series *s, uint64_t step);
double run_series_epoch(const run_series *s, const char *key, uint64_t epoch);
// Is the step (from 0) the last one of an epoch?
bool run_series_ends_epoch(const run_series *s, uint64_t step);
// The time of the first step's begin, in seconds since 1970: `run.end` less the wall time of all
// steps, since manifests do not record the times of evaluations and interruptions. 0 without a
// manifest.
double run_series_begin(const run_series *s);

// Appends a header, then one line per step: run, step (from 1), epoch (from 1), loss, lr,
// wall_seconds, the phases as load_seconds …, digest; and epoch_loss, epoch_accuracy and
// epoch_seconds in the last step of each epoch. Unknown values are empty cells.
void run_series_csv(const run_series *runs, size_t count, struct text *out);

// Appends {"runs": [{"run", "steps": {column: [value of each step]}, "epochs": {column: [of each
// epoch]}}]}, with the columns of the CSV file, without "epoch_". Unknown values are null.
void run_series_json(const run_series *runs, size_t count, struct text *out);

#endif
