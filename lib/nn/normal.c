// SPDX-License-Identifier: MIT
#include "nn/normal.h"

#include <math.h>

#include "base/elementary.h"

// Returns the sine of `turn` / 2^32 of a circle. Of its quarters the second runs backward, and the
// last two are negative.
static double sine_of_turn(uint32_t turn) {
    const double quarter = 0x1p30;
    const uint32_t part = turn & 0x3fffffffu;
    const double sine = elementary_sine((turn >> 30 & 1 ? quarter - part : part) / quarter);
    return turn >> 31 ? -sine : sine;
}

double normal_number(const random_stream *s, uint64_t element) {
    const uint64_t pair = element & ~UINT64_C(1);
    const double uniform = (random_bits(s, pair) + 0.5) * 0x1p-32; // never 0
    const uint32_t turn = random_bits(s, pair + 1);
    const uint32_t quarter = UINT32_C(1) << 30; // the cosine is a sine, a quarter ahead
    return sqrt(-2 * elementary_log(uniform)) * sine_of_turn(element & 1 ? turn : turn + quarter);
}
