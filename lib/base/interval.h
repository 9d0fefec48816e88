// SPDX-License-Identifier: MIT
// interval.h - a range of numbers.
#ifndef LOCKSTEP_BASE_INTERVAL_H
#define LOCKSTEP_BASE_INTERVAL_H

#include <stdint.h>

typedef struct interval {
    double low, high;
} interval;

// Wilson's 95 % interval of a proportion, right / n; [0, 1] for n = 0.
interval interval_wilson(int64_t right, int64_t n);

#endif
