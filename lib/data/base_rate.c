// SPDX-License-Identifier: MIT
#include "data/base_rate.h"

#include "base/interval.h"

base_rate base_rate_find(const int64_t *counts, int classes) {
    base_rate b = {0};
    for (int k = 0; k < classes; k++) {
        b.of += counts[k];
        if (counts[k] > b.samples) b = (base_rate){k, counts[k], b.of};
    }
    return b;
}

double base_rate_share(const base_rate *b) {
    return b->of ? (double)b->samples / (double)b->of : 0;
}

bool base_rate_is_beaten(const base_rate *b, int64_t right) {
    return interval_wilson(right, b->of).low > base_rate_share(b);
}
