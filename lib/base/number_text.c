// SPDX-License-Identifier: MIT
#include "base/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void number_text(double value, char text[NUMBER_TEXT_BYTES]) {
    const bool whole = fabs(value) < 1e15 && value == trunc(value);
    for (int digits = whole ? 15 : 1; digits <= 17; digits++) {
        snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, value == 0 ? 0.0 : value);
        if (strtod(text, NULL) == value) break;
    }
}

// ---- Durations ----

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, LONGEST_DAYS = 999 };

// Writes `count` small units as large and small ones; `unit` small units make a large one.
static const char *write_two(long count, int unit, const char *large, const char *small,
                             char text[DURATION_TEXT_BYTES]) {
    const long whole = count / unit, rest = count % unit;
    if (whole && rest)
        snprintf(text, DURATION_TEXT_BYTES, "%ld %s %ld %s", whole, large, rest, small);
    else
        snprintf(text, DURATION_TEXT_BYTES, "%ld %s", whole ? whole : rest, whole ? large : small);
    return text;
}

const char *duration_text(double seconds, char text[DURATION_TEXT_BYTES]) {
    if (!(seconds > 0)) seconds = 0;
    if (seconds > (double)LONGEST_DAYS * DAY) {
        snprintf(text, DURATION_TEXT_BYTES, "over %d d", LONGEST_DAYS);
        return text;
    }
    // The rounded number decides which units are used: 59.7 s is 1 min, not 60 s.
    if (lround(seconds) < 10 * MINUTE) return write_two(lround(seconds), 60, "min", "s", text);
    if (lround(seconds / MINUTE) < DAY / MINUTE)
        return write_two(lround(seconds / MINUTE), 60, "h", "min", text);
    return write_two(lround(seconds / HOUR), 24, "d", "h", text);
}
