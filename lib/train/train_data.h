// SPDX-License-Identifier: MIT
// train_data.h - the data of a training run: read, checked against the experiment, and completed
// by normalisation, mean bytes and validation samples, which follow from both.
#ifndef LOCKSTEP_TRAIN_TRAIN_DATA_H
#define LOCKSTEP_TRAIN_TRAIN_DATA_H

#include "train/train_run.h"

// Reads the data sets of r->settings, of which a dry run reads only headers, and puts them into the
// manifest as inputs. STATUS_INPUT if the experiment cannot use them.
status train_data_read(train_run *r, error *err) MUST_CHECK;

#endif
