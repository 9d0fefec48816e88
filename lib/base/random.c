// SPDX-License-Identifier: MIT
#include "base/random.h"

void random_permutation(const random_stream *s, uint32_t *order, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    uint32_t block[4];
    uint64_t element = 0;
    for (uint32_t i = n; i-- > 1; element++) {
        if (element % 4 == 0) random_block(s, (uint32_t)(element / 4), block);
        uint32_t j = (uint32_t)((uint64_t)block[element % 4] * (i + 1) >> 32);
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}
