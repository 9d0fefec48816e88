// SPDX-License-Identifier: MIT
// average.h - averages of a run's weights over its steps, computed on the host, so that every kind
// of device, every rank and every strategy has the same. Values are computed in double and rounded
// once per step of the average.
//
// ema        every `every` steps average = decay · average + (1 - decay) · weights. Training goes
// on
//            with its own weights; the average is what is evaluated and written as the model.
// lookahead  the same with d = decay^every · (step / total)^ramp in place of `decay`, where `step`
//            counts the steps done, and the weights then become the average (M. Zhang et al.,
//            arXiv:1907.08610, with the rising decay of K. Jordan's airbench, arXiv:2404.00498).
//            After the last step the weights are the average, as it was last taken.
//
// Both begin with the initial weights. Running statistics of batch norm are averaged like weights.
#ifndef LOCKSTEP_TRAIN_AVERAGE_H
#define LOCKSTEP_TRAIN_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/optimizer.h"
#include "train/checkpoint.h"

// Does the average change after `step` of `total` steps, or do the weights become the average?
bool average_is_due(const averaging *a, uint64_t step, uint64_t total);

// The share of the old average in the new one after that many steps; 1 if the step is not one of
// the average's.
double average_share(const averaging *a, uint64_t step, uint64_t total);

// Takes the weights of `c` into its average and, for lookahead, the average into the weights.
// *changed: the weights are no longer those of the engines.
void average_take(const averaging *a, checkpoint *c, uint64_t total, bool *changed);

#endif
