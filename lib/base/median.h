// SPDX-License-Identifier: MIT
// median.h - the median of a list of numbers.
#ifndef LOCKSTEP_BASE_MEDIAN_H
#define LOCKSTEP_BASE_MEDIAN_H

#include <stddef.h>

// Sorts `values` and returns their median. For an even count it is the mean of the two in the
// middle; for none it is NAN.
double median(double *values, size_t count);

#endif
