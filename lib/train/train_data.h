// SPDX-License-Identifier: MIT
// train_data.h - the data of a training run: read, checked against the experiment, and completed
// by normalisation, mean bytes and validation samples, which follow from both.
#ifndef LOCKSTEP_TRAIN_TRAIN_DATA_H
#define LOCKSTEP_TRAIN_TRAIN_DATA_H

#include "data/dataset.h"
#include "data/holdout.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/train_settings.h"

typedef struct train_data {
    dataset train, test;
    holdout left_out; // of `train`, for validation
    normalization normalization;
    augment_list augment; // the experiment's, with the data's mean bytes
} train_data;

// Reads the data sets of the settings, of which a dry run reads only headers, and puts them into
// the manifest as inputs. STATUS_INPUT if the experiment cannot use them. Release `d` even then.
status train_data_read(train_data *d, const train_settings *s, const experiment *e, manifest *m,
                       error *err) MUST_CHECK;
void train_data_release(train_data *d);

// Returns the number of samples that are trained on.
static inline uint32_t train_data_samples(const train_data *d) {
    return d->train.samples - d->left_out.count;
}

#endif
