// SPDX-License-Identifier: MIT
// stages.h - cuts a model into pipeline stages.
#ifndef LOCKSTEP_TRAIN_STAGES_H
#define LOCKSTEP_TRAIN_STAGES_H

#include "base/error.h"
#include "experiment/experiment.h"

// Fills first[0 … count]: stage s runs the layers first[s] … first[s + 1] - 1. Uses the cuts in the
// experiment's `stages:` if it names count - 1 of them, else those that balance multiply-adds best.
// A stage begins with a convolution or linear layer; STATUS_USAGE, naming the layer, if it would
// not, or if there are too few such layers.
status stages_cut(const experiment *e, int count, int *first, error *err) MUST_CHECK;

#endif
