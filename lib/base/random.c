#include "base/random.h"

enum { ROUNDS = 10 };

void random_block(const random_stream *s, uint32_t draw, uint32_t out[4]) {
    uint32_t k0 = (uint32_t)s->seed, k1 = (uint32_t)(s->seed >> 32);
    uint32_t c0 = (uint32_t)s->purpose << 24 | (s->layer & 0xffffffu), c1 = s->epoch;
    uint32_t c2 = s->sample, c3 = draw;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u; // Weyl sequence: golden ratio, sqrt(3) - 1
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint32_t random_bits(const random_stream *s, uint64_t element) {
    uint32_t block[4];
    random_block(s, (uint32_t)(element / 4), block);
    return block[element % 4];
}

float random_uniform(const random_stream *s, uint64_t element) {
    return (float)(random_bits(s, element) >> 8) * 0x1p-24f;
}

uint32_t random_below(const random_stream *s, uint64_t element, uint32_t n) {
    return (uint32_t)((uint64_t)random_bits(s, element) * n >> 32);
}

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
