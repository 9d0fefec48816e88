// SPDX-License-Identifier: MIT
// train_run.h - one run of a train tool: the files around the training loop.
#ifndef LOCKSTEP_TRAIN_TRAIN_RUN_H
#define LOCKSTEP_TRAIN_TRAIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cli.h"
#include "base/error.h"
#include "base/log.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/holdout.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"
#include "train/strategy.h"
#include "train/turn_taker.h"

// Revision of the arithmetic, raised when equal inputs give different bits: part of keys, manifests
// and saved states. Since 3, random numbers depend on the layers' names, and batch norm computes
// with centred values (CHANGELOG.md).
enum { TRAIN_BITS = 3 };

// The settings of a run; the strings are the caller's. A NULL path: not requested.
typedef struct train_settings {
    const char *tool; // its name
    const strategy *strategy;
    world world;
    const char *train, *test, *out, *init, *trace, *dump_order;
    const char *tensorboard; // folder for an event file that grows with the run
    cli_list init_except;    // patterns: the tensors that `init` does not give
    devices devices;         // opened, unless nothing will be computed
    const char *isa;         // NULL: the best
    int threads;             // per rank; 0: this host's cores, divided among its ranks
    int loader_workers;
    bool reduce_fast; // requested, and the strategy reduces
    bool resume;
    const turn_taker
        *turns;   // only trains in turns, to be timed, and writes nothing; NULL: no turns
    bool dry_run; // only check; reads only the headers of data files with a manifest
    uint64_t stop_after_steps, checkpoint_steps, checkpoint_ns; // 0: never
    // The command that resumes after a stop: as typed, if another program started the tool on its
    // behalf; else the tool's own arguments, argc of them.
    const char *command;
    char **argv;
    int argc;
    int keep_states;  // segments whose ends are kept (kept_states.h); 0: none
    int max_restarts; // after the death of a process; above 0 only if the world is supervised
    const logger *log;
} train_settings;

typedef struct train_run {
    const train_settings *settings;
    const experiment *experiment;
    manifest *manifest;
    dataset train, test;
    holdout left_out; // of `train`, for validation
    normalization normalization;
    augment_list augment; // the experiment's, with the data's mean bytes
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

// Returns the number of samples that are trained on.
uint32_t train_run_samples(const train_run *r);

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
