// run_series.h - what a finished run says of each of its steps and epochs, as one table for other
// programs: a CSV file, or JSON.
#ifndef LOCKSTEP_TRAIN_RUN_SERIES_H
#define LOCKSTEP_TRAIN_RUN_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"
#include "train/timeline.h"

typedef struct run_series {
    const char *name;       // as the caller names the run; not copied
    char *steps, *manifest; // the files it was read from; `manifest` is NULL where there is none
    timeline timeline;
    yaml_node *root;          // of the manifest, or NULL
    const yaml_node *epochs;  // its results.epochs, or NULL
    uint64_t steps_per_epoch; // 0: not known, and with it no epoch and no learning rate
    experiment updates;       // experiment_read_updates of its parameters
} run_series;

// Reads the run that `path` means: the folder that a train tool wrote, one that holds train/, or
// its steps.st.zst; a file without a manifest beside it has no epochs. STATUS_INPUT for what is
// none. `max_bytes` as of tensor_file_read. run_series_release whatever happens.
status run_series_read(run_series *s, const char *path, uint64_t max_bytes, error *err) MUST_CHECK;
void run_series_release(run_series *s);

// The learning rate of a step (from 0), and what `results.epochs` of the manifest says of an epoch
// (from 0) under `key`: NAN where it is not known.
double run_series_rate(const run_series *s, uint64_t step);
double run_series_epoch(const run_series *s, const char *key, uint64_t epoch);
// When its first step would have begun, in seconds since 1970, had it trained without a pause until
// `run.end`: manifests do not say when evaluations and interruptions were. 0 without a manifest.
double run_series_begin(const run_series *s);

// One line a step, after a header: run, step (from 1), epoch (from 1), loss, lr, wall_seconds, the
// phases as load_seconds …, digest; and epoch_loss, epoch_accuracy and epoch_seconds in the last
// step of each epoch. What is not known is an empty cell.
status run_series_write_csv(const run_series *runs, size_t count, output *out,
                            error *err) MUST_CHECK;

// {"runs": [{"run", "steps": {column: [value of each step]}, "epochs": {column: [of each
// epoch]}}]}, with the columns of the CSV file, without "epoch_". What is not known is null.
status run_series_write_json(const run_series *runs, size_t count, output *out,
                             error *err) MUST_CHECK;

#endif
