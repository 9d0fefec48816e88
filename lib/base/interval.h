// SPDX-License-Identifier: MIT
// interval.h - a range of numbers.
#ifndef LOCKSTEP_BASE_INTERVAL_H
#define LOCKSTEP_BASE_INTERVAL_H

typedef struct interval {
    double low, high;
} interval;

#endif
