// SPDX-License-Identifier: MIT
// initial_model.h - the parameters and statistics before the first step of an experiment.
#ifndef LOCKSTEP_TRAIN_INITIAL_MODEL_H
#define LOCKSTEP_TRAIN_INITIAL_MODEL_H

#include "data/holdout.h"
#include "experiment/experiment.h"
#include "train/model_file.h"

// Fills both arenas: PyTorch's default distributions, and the `init` of the experiment's `tensors`.
// Whitening takes the WHITENING_IMAGES images of the smallest ids that are not in `left`, without
// augmentation, so that the order of the images and their division into shards do not matter. If
// only the header of the data was read, it leaves the default.
status initial_model(const experiment *e, const dataset *train, const holdout *left,
                     const normalization *n, float *parameters, float *buffers,
                     error *err) MUST_CHECK;

// Does the experiment set the initial values of any tensor?
bool initial_model_is_set(const experiment *e);

#endif
