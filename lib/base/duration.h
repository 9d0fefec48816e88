// SPDX-License-Identifier: MIT
// duration.h - durations as people write them.
#ifndef LOCKSTEP_BASE_DURATION_H
#define LOCKSTEP_BASE_DURATION_H

enum { DURATION_TEXT_BYTES = 32 };

// Writes "12 s", "3 min 5 s", "49 min", "1 h 49 min", "2 d 3 h": the largest unit and the one below
// it, rounded to nearest. Seconds appear only up to ten minutes, and a unit whose count is 0 is
// left out. Negative durations and NaN are "0 s"; more than 999 days are "over 999 d". Returns
// `text`.
const char *duration_text(double seconds, char text[DURATION_TEXT_BYTES]);

#endif
