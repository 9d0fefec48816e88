// tensorboard.h - the series of runs as a folder that TensorBoard opens.
#ifndef LOCKSTEP_TRAIN_EXPORT_TENSORBOARD_H
#define LOCKSTEP_TRAIN_EXPORT_TENSORBOARD_H

#include <stddef.h>

#include "base/error.h"
#include "train/run_series.h"

#define TENSORBOARD_FILE "events.out.tfevents.lockstep"

// Writes FOLDER/NAME/TENSORBOARD_FILE for each run, where NAME is the name of the run without a
// leading '/', '.' and '..' (a file is named by its folder): TensorBoard shows it under that name.
// Tags: step/loss, step/learning_rate and step/seconds over steps, from 1; epoch/train_loss,
// epoch/test_accuracy and epoch/seconds over epochs, from 1. Times are run_series_begin and the
// seconds of the steps since. Equal runs of one name give equal files. STATUS_USAGE, and nothing is
// written, where two runs have one name, or a file would be written that is read.
status tensorboard_write(const run_series *runs, size_t count, const char *folder,
                         error *err) MUST_CHECK;

#endif
