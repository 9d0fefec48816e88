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
