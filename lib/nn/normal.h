// SPDX-License-Identifier: MIT
// normal.h - normally distributed random numbers, with the same bits on every machine.
#ifndef LOCKSTEP_NN_NORMAL_H
#define LOCKSTEP_NN_NORMAL_H

#include "base/random.h"

// Returns a number of mean 0 and deviation 1. Elements 2k and 2k + 1 are made of the stream's
// elements 2k and 2k + 1 (G. E. P. Box and M. E. Muller, Annals of Mathematical Statistics 29,
// 1958).
double normal_number(const random_stream *s, uint64_t element);

#endif
