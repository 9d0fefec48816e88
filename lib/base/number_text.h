// SPDX-License-Identifier: MIT
// number_text.h - the one text of a number, as keys, resolved experiments and manifests hold it;
// and durations, as people write them.
#ifndef LOCKSTEP_BASE_NUMBER_TEXT_H
#define LOCKSTEP_BASE_NUMBER_TEXT_H

enum { NUMBER_TEXT_BYTES = 40 };

// Writes the shortest of "%.1g" to "%.17g" that reads back as the same double: 0.001, 1e-08. A
// whole number below 1e15 has all its digits and no exponent: 1000000000, not 1e+09. -0 is 0. So
// different numbers have different texts, a number has one text, and reading that text returns the
// number. `value` must be finite.
void number_text(double value, char text[NUMBER_TEXT_BYTES]);

enum { DURATION_TEXT_BYTES = 32 };

// Writes "12 s", "3 min 5 s", "49 min", "1 h 49 min", "2 d 3 h": the largest unit and the one below
// it, rounded to nearest. Seconds appear only up to ten minutes, and a unit whose count is 0 is
// left out. Negative durations and NaN are "0 s"; more than 999 days are "over 999 d". Returns
// `text`.
const char *duration_text(double seconds, char text[DURATION_TEXT_BYTES]);

#endif
