// SPDX-License-Identifier: MIT
// evaluation_warnings.h - what an accuracy alone does not show: that always answering the commonest
// class gives as much, and classes that a model never answers.
#ifndef LOCKSTEP_TRAIN_EVALUATION_WARNINGS_H
#define LOCKSTEP_TRAIN_EVALUATION_WARNINGS_H

#include "base/log.h"
#include "train/evaluation.h"

// Warns of either, in a line each. `classes` is the metadata of the data set (labels_names), or
// NULL: then a class is its number.
void evaluation_warn(const evaluation *e, const char *classes, const logger *log);

#endif
