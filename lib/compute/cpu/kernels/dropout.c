// SPDX-License-Identifier: MIT
// Dropout: sixteen Philox streams side by side, one per sample. The numbers are those of
// base/random.h, which describes the method and names its source; tests/ops/test_dropout.c compares
// them.
#include "simd.h"

#include "base/random.h"

enum { HALF = VL / 2, WIDE_SLICES = LANES / HALF };

typedef uint64_t wide __attribute__((vector_size(VL * 4)));
typedef int8_t half __attribute__((vector_size(HALF), aligned(1), may_alias));

// Products of the lower 32 bits of each element; the upper 32 may hold anything.
INLINE wide multiply(wide a, uint32_t b) {
#if VL == 16
    return (wide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#elif VL == 8
    return (wide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#else
    return (a & 0xffffffffu) * b;
#endif
}

// 32 bits per element, in the lower half of 64; the upper half is ignored.
typedef struct counter {
    wide c[4];
} counter;

INLINE void philox(counter *s, const uint64_t seed) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    UNROLL for (int round = 0; round < 10; round++) {
        const wide a = multiply(s->c[0], 0xD2511F53u), b = multiply(s->c[2], 0xCD9E8D57u);
        s->c[0] = b >> 32 ^ s->c[1] ^ k0;
        s->c[1] = b;
        s->c[2] = a >> 32 ^ s->c[3] ^ k1;
        s->c[3] = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

// Chooses which of features [4·draw, 4·draw + 4) are kept, for all samples; of these features
// [first, end) are needed.
INLINE void choose(const random_stream *stream, uint32_t threshold, const wide *ids, uint32_t draw,
                   size_t first, size_t end, uint8_t *kept) {
    for (int slice = 0; slice < WIDE_SLICES; slice++) {
        const wide zero = {0};
        counter s = {{zero + ((uint32_t)stream->purpose << 24 | (stream->layer & 0xffffffu)),
                      zero + stream->epoch, ids[slice], zero + draw}};
        philox(&s, stream->seed);
        for (size_t i = first; i < end; i++) {
            const half yes =
                __builtin_convertvector((s.c[i] & 0xffffffffu) >> 8 >= threshold, half);
            memcpy(kept + (i - first) * LANES + slice * HALF, &yes, sizeof yes);
        }
    }
}

static void choose_all(const layer_task *t) {
    const size_t features = (size_t)t->y.channels * (size_t)t->y.height * (size_t)t->y.width;
    const random_stream stream = {
        .seed = layer_seed(t->l, t->seed), .purpose = RANDOM_DROPOUT, .epoch = t->epoch};
    const uint32_t threshold = layer_drop_threshold(t->l);
    wide ids[WIDE_SLICES];
    for (int n = 0; n < LANES; n++) ids[n / HALF][n % HALF] = t->ids[n < t->samples ? n : 0];
    for (size_t i = t->feature, end = t->feature + features; i < end; i += 4 - i % 4)
        choose(&stream, threshold, ids, (uint32_t)(i / 4), i % 4,
               end - i < 4 - i % 4 ? i % 4 + end - i : 4, t->choices + (i - t->feature) * LANES);
}

// Writes x, scaled, if it is kept, else 0.
INLINE void drop(const uint8_t *kept, float scale, const float *x, float *y) {
    UNROLL for (int slice = 0; slice < LANE_SLICES; slice++) {
        const ivec mask = load_bytes(kept + slice * VL) != 0;
        vstore(y + slice * VL, vmask(mask, vset(scale) * vload(x + slice * VL)));
    }
}

void KERNEL(dropout)(const layer_task *t) {
    const float factor = layer_keep_factor(t->l);
    if (!t->ids) { // in inference nothing is dropped
        KERNEL(sum)(&t->x, NULL, &t->y);
        return;
    }
    choose_all(t);
    const uint8_t *kept = t->choices;
    for (int c = 0; c < t->y.channels; c++)
        for (int row = 0; row < t->y.height; row++) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)row * t->x.row;
            float *y = t->y.data + (size_t)c * t->y.plane + (size_t)row * t->y.row;
            for (int i = 0; i < t->y.width; i++, x += LANES, y += LANES, kept += LANES)
                drop(kept, factor, x, y);
        }
}

void KERNEL(dropout_backward)(const layer_task *t) {
    const size_t features = (size_t)t->y.channels * (size_t)t->y.height * (size_t)t->y.width;
    const float factor = layer_keep_factor(t->l);
    for (size_t i = 0; i < features * LANES; i += LANES)
        drop(t->choices + i, factor, t->dy + i, t->dx + i);
}
