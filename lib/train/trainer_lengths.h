// SPDX-License-Identifier: MIT
// trainer_lengths.h - the lengths of runs and epochs, in steps and samples, and what follows from
// them.
#ifndef LOCKSTEP_TRAIN_TRAINER_LENGTHS_H
#define LOCKSTEP_TRAIN_TRAINER_LENGTHS_H

#include <stdint.h>

#include "experiment/experiment.h"
#include "train/checkpoint.h"

// Of `samples` training samples: the steps of a whole epoch, and of the run;
// the epochs in which these are.
uint64_t trainer_steps_per_epoch(const experiment *e, uint32_t samples);
uint64_t trainer_steps(const experiment *e, uint32_t samples);
// The samples of a whole epoch: all, or with drop_last those of its full steps.
uint64_t trainer_epoch_samples(const experiment *e, uint32_t samples);
int trainer_epochs(const experiment *e, uint32_t samples);
// The steps of an epoch (from 0), of which the last one may have fewer.
uint64_t trainer_epoch_steps(const experiment *e, uint32_t samples, int epoch);

// For a finished epoch (from 0): the mean loss over the samples of its steps, and its wall time
// without evaluation and saving.
double trainer_epoch_loss(const checkpoint *c, const experiment *e, uint32_t samples, int epoch);
double trainer_epoch_seconds(const checkpoint *c, const experiment *e, uint32_t samples, int epoch);

#endif
