// SPDX-License-Identifier: MIT
// train_run.h - one run of a train tool: the files around the training loop.
#ifndef LOCKSTEP_TRAIN_TRAIN_RUN_H
#define LOCKSTEP_TRAIN_TRAIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/devices.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"
#include "train/train_data.h"

// Revision of the arithmetic, raised when equal inputs give different bits: part of keys, manifests
// and saved states. Since 3, random numbers depend on the layers' names, and batch norm computes
// with centred values (CHANGELOG.md).
enum { TRAIN_BITS = 3 };

typedef struct train_run {
    const train_settings *settings;
    const experiment *experiment;
    manifest *manifest;
    train_data data;
    checkpoint checkpoint;
    char *first_weights; // run_identity.init; NULL: none
    int threads;
    bool spin;
    int cores;     // for each rank of this host; siblings count once
    bool launched; // ranks were started, or this one joined the others, or an attempt was made
    yaml_node *segment;
    bool resumed;  // it resumes from a saved state
    bool *cleared; // shared by all ranks of this host: --out is cleared of an earlier run
    gpu_figures figures[DEVICES_MAX]; // of settings->devices.gpus
} train_run;

// Reads the datasets, checks that model, data and outputs match, finds where to begin, and puts
// parameters and inputs into `m`. Changes nothing on disk. `r` keeps references to all arguments;
// release it even after a failure.
status train_run_init(train_run *r, const train_settings *s, const experiment *e, manifest *m,
                      error *err) MUST_CHECK;
void train_run_release(train_run *r);

// STATUS_USAGE if the run would write a file that it reads, or two outputs to one file. `file` is
// the experiment file.
status train_run_check_files(const train_settings *s, const char *file, error *err) MUST_CHECK;

// Puts into `m` only the components of the stage's key: the parameters and the inputs' content
// hashes. An input whose hash is recorded in a manifest next to it is not read (data/recorded.h).
status train_run_describe(const train_settings *s, const experiment *e, manifest *m,
                          error *err) MUST_CHECK;

// Is --out the folder of a finished run of this experiment? A run of fewer epochs, which can go on
// (experiment_continues), is not finished. STATUS_INPUT, with the reason, if it is a run of another
// experiment. --resume checks this first: only the manifest is read.
status train_run_finished(const char *out, const experiment *e, bool *finished,
                          error *err) MUST_CHECK;

// Trains and writes. If it only takes turns, --out is not used. The folder must exist and be
// locked, except on a joined rank other than 0. Removes the files of an earlier run once all ranks
// are ready to train.
status train_run_go(train_run *r, error *err) MUST_CHECK;

#endif
