// train_run.h - one run of a train tool: the files around the training loop.
#ifndef LOCKSTEP_TRAIN_TRAIN_RUN_H
#define LOCKSTEP_TRAIN_TRAIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"
#include "train/strategy.h"

// Revision of the bits that equal inputs give, raised when they change: a part of keys, manifests
// and saved states.
enum { TRAIN_BITS = 2 };

// What to do; the strings are the caller's. A NULL path: not asked for.
typedef struct train_settings {
    const char *tool; // its name
    const strategy *strategy;
    world world;
    const char *train, *test, *out, *init, *trace, *dump_order;
    devices devices; // opened, unless nothing is to be computed
    const char *isa; // NULL: the best
    int threads;     // of a rank; 0: the cores of this host, divided among the ranks
    int loader_workers;
    bool reduce_fast; // asked for, and there is something to add up
    bool resume;
    bool dry_run; // only check: of data files that are known, the headers are enough
    uint64_t stop_after_steps, checkpoint_steps, checkpoint_ns; // 0: not
    // The command that goes on after a stop: as it was typed, if another program started the tool
    // for it; else the tool's own words, argc of them.
    const char *command;
    char **argv;
    int argc;
    int max_restarts; // after the death of a process; above 0 only where the world is supervised
    const logger *log;
} train_settings;

typedef struct train_run {
    const train_settings *settings;
    const experiment *experiment;
    manifest *manifest;
    dataset train, test;
    normalization normalization;
    checkpoint checkpoint;
    char init_content[SHA256_TEXT_BYTES];
    int threads;
    bool spin;
    bool launched; // ranks have been started, or this one has joined the others: or it was tried
    yaml_node *segment;
    bool resumed;  // it goes on from a saved state
    bool *cleared; // shared by all ranks of this host: nothing of an earlier run is in --out
    gpu_figures figures[DEVICES_MAX]; // of settings->devices.gpus
} train_run;

// Reads the datasets, checks that model, data and outputs fit, finds where to begin, and puts
// parameters and inputs into `m`. Nothing on disk changes. `r` refers to all that is given here;
// release it also after a failure.
status train_run_init(train_run *r, const train_settings *s, const experiment *e, manifest *m,
                      error *err) MUST_CHECK;
void train_run_release(train_run *r);

// STATUS_USAGE when what the run would write is what it reads, or is to be two things. `file` is
// that of the experiment.
status train_run_check_files(const train_settings *s, const char *file, error *err) MUST_CHECK;

// Puts into `m` only what the key of the stage is made from: the parameters, and the contents of
// the inputs, which are not read where a manifest beside them tells (data/recorded.h).
status train_run_describe(const train_settings *s, const experiment *e, manifest *m,
                          error *err) MUST_CHECK;

// Is --out the folder of a finished run of this experiment? One of fewer epochs, which can go on
// (experiment_continues), is not finished. STATUS_INPUT saying why when it is one of another
// experiment. (For --resume, first of all: nothing is read but the manifest.)
status train_run_finished(const char *out, const experiment *e, bool *finished,
                          error *err) MUST_CHECK;

// Trains and writes. The folder must exist and be locked, unless this is a rank other than 0 that
// joined. The files of an earlier run are removed once all ranks are ready to train.
status train_run_go(train_run *r, error *err) MUST_CHECK;

#endif
