// stages.h - where a model is cut into the stages of a pipeline.
#ifndef LOCKSTEP_TRAIN_STAGES_H
#define LOCKSTEP_TRAIN_STAGES_H

#include "base/error.h"
#include "experiment/experiment.h"

// Fills first[0 … count]: stage s runs the layers first[s] … first[s + 1] - 1. The cuts are those
// of the experiment's `stages:` when it names count - 1 of them, else where the counted
// multiply-adds come nearest to equal parts. A stage begins with a convolution or a linear layer;
// STATUS_USAGE, naming the layer, where it would not, or where there are too few of them.
status stages_cut(const experiment *e, int count, int *first, error *err) MUST_CHECK;

#endif
