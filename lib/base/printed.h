// SPDX-License-Identifier: MIT
// printed.h - a figure as people print it: 504.28, ~2.5, 93.02%, 2m36s, 0:01:18.74, 93.5 ± 0.2,
// 1.83x, 332 images/s, 12 it/s.
#ifndef LOCKSTEP_BASE_PRINTED_H
#define LOCKSTEP_BASE_PRINTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/interval.h"

// What a figure is, and the unit of a number that has none.
typedef enum printed_unit {
    PRINTED_NUMBER,
    PRINTED_SECONDS,    // also 2m36s, 1 h 49 min, 19 ms, and a clock's 2:36 (minutes) or 0:02:36
    PRINTED_MS,         // the same, in milliseconds
    PRINTED_PERCENT,    // also with %
    PRINTED_ERROR,      // percent; the value is what is missing to 100
    PRINTED_TIMES,      // also 1.83x
    PRINTED_IMAGE_RATE, // images per second; also with /s, images/s, samples/s, and then per GPU
    PRINTED_BATCH_RATE, // batches per second, also with it/s, or s/it; the value is ms per batch
    PRINTED_UNITS
} printed_unit;

typedef struct printed_figure {
    double value;
    interval range;   // all values that round to it; of a ± b: from a - b to a + b
    size_t length;    // of the number in the text, if that is all: 5 of 93.02%; else 0
    double deviation; // b of a ± b; 0: none
    bool has_unit;
    bool per_device; // an image rate of each device: 110 images/s per GPU
} printed_figure;

// Half a unit of the last digit is the rounding; a time of several parts without decimals (2m36s,
// 0:02:36) may also be cut off, not rounded. "~" is "about": within a tenth, and at least one unit
// of the last digit. Returns false if it is no such figure. An error below 1 % needs its sign: 0.08
// could be a fraction.
bool printed_read(const char *text, printed_unit unit, printed_figure *p);

// How such a figure may be written, for a message; "" for a mere number.
const char *printed_forms(printed_unit unit);

#endif
