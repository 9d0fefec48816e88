// SPDX-License-Identifier: MIT
// tensorboard.h - writes the series of runs as a folder for TensorBoard.
#ifndef LOCKSTEP_TRAIN_EXPORT_TENSORBOARD_H
#define LOCKSTEP_TRAIN_EXPORT_TENSORBOARD_H

#include <stddef.h>

#include "base/error.h"
#include "train/run_series.h"

#define TENSORBOARD_FILE "events.out.tfevents.lockstep"

// Writes FOLDER/NAME/TENSORBOARD_FILE for each run, where NAME is the name of the run without a
// leading '/', '.' and '..'; a file has the name of its folder. TensorBoard shows the run as NAME.
// Tags: step/loss, step/learning_rate and step/seconds over steps, from 1; epoch/train_loss,
// epoch/test_accuracy and epoch/seconds over epochs, from 1. Times are run_series_begin and the
// seconds of the steps since. The same run under the same name gives the same bytes. STATUS_USAGE,
// before anything is written, if two runs have the same name, or an output is an input.
status tensorboard_write(const run_series *runs, size_t count, const char *folder,
                         error *err) MUST_CHECK;

#endif
