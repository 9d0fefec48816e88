// SPDX-License-Identifier: MIT
#include "data/mixup.h"

#include <string.h>

#include "base/elementary.h"

// ln u / alpha for u uniform in (0, 1): the middle of one of 2^24 intervals.
static double log_of_root(const random_stream *s, uint64_t element, double alpha) {
    return elementary_log((double)random_uniform(s, element) + 0x1p-25) / alpha;
}

// In logarithms, because x and y are too small for a double if alpha is.
uint32_t mixup_share(double alpha, const augment_key *key) {
    const random_stream s = {
        .seed = key->seed, .purpose = RANDOM_MIXUP, .epoch = key->epoch, .sample = key->id};
    double x, y;
    uint64_t element = 0;
    do {
        x = log_of_root(&s, element++, alpha);
        y = log_of_root(&s, element++, alpha);
    } while (elementary_exp(x) + elementary_exp(y) > 1);
    const double share = x == y ? 0.5 : 1 / (1 + elementary_exp(y - x));
    return (uint32_t)(share * MIXUP_ONE + 0.5);
}

void mixup_blend(uint32_t share, size_t bytes, const uint8_t *other, uint8_t *image) {
    for (size_t i = 0; i < bytes; i++) {
        const uint32_t sum = (MIXUP_ONE - share) * image[i] + share * other[i];
        image[i] = (uint8_t)((sum + MIXUP_ONE / 2) / MIXUP_ONE);
    }
}

// From the last sample to the first, so that each is blended before it is blended into another.
void mixup_apply(const mixup_shard *s) {
    if (s->count < 2) return;
    const size_t last = (size_t)s->count - 1;
    memcpy(s->scratch, s->images + last * s->bytes, s->bytes);
    for (size_t n = last + 1; n-- > 0;) {
        const augment_key key = {s->seed, s->epoch, s->ids[n]};
        const uint32_t share = mixup_share(s->alpha, &key);
        uint8_t *image = s->images + n * s->bytes;
        mixup_blend(share, s->bytes, n > 0 ? image - s->bytes : s->scratch, image);
        s->targets[n].other = s->targets[n > 0 ? n - 1 : last].label;
        s->targets[n].share = (float)share / MIXUP_ONE;
    }
}
