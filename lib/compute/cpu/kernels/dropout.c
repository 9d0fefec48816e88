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

// What a layer chooses with, for features or for the parts of a sample that are kept or dropped as
// a whole.
typedef struct choosing {
    random_stream stream;
    uint32_t threshold;
    wide ids[WIDE_SLICES];
} choosing;

static choosing choosing_of(const layer_task *t) {
    choosing c = {
        .stream = {.seed = layer_seed(t->l, t->seed), .purpose = RANDOM_DROPOUT, .epoch = t->epoch},
        .threshold = layer_drop_threshold(t->l)};
    for (int n = 0; n < LANES; n++)
        c.ids[n / HALF][n % HALF] = t->l->by_shard ? t->leader : t->ids[n < t->samples ? n : 0];
    return c;
}

// For features [first, end), or parts.
INLINE void choose_range(const choosing *c, size_t first, size_t end, uint8_t *kept) {
    for (size_t i = first; i < end; i += 4 - i % 4)
        choose(&c->stream, c->threshold, c->ids, (uint32_t)(i / 4), i % 4,
               end - i < 4 - i % 4 ? i % 4 + end - i : 4, kept + (i - first) * LANES);
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
    const choosing chosen = choosing_of(t);
    const size_t features = (size_t)t->y.channels * (size_t)t->y.height * (size_t)t->y.width;
    choose_range(&chosen, t->feature, t->feature + features, t->choices);
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

// ---- Whole channels, whole samples ----

// Channels with rows that may be apart, as in a view, or dense.
typedef struct rows {
    size_t row, plane;
} rows;

// Both directions choose, for four channels at once; nothing is left in `choices`.
static void drop_parts(const layer_task *t, const float *x, rows from, float *y, rows to) {
    const choosing chosen = choosing_of(t);
    const float factor = layer_keep_factor(t->l);
    const bool all = layer_traits_of(t->l)->drops == DROPS_ALL;
    const size_t first = t->feature / (size_t)(t->y.height * t->y.width);
    uint8_t four[4 * LANES];
    for (int c = 0; c < t->y.channels; c++) {
        const size_t part = all ? 0 : first + (size_t)c, in_four = part % 4;
        const uint8_t *kept = four + in_four * LANES;
        if (c == 0 || (!all && in_four == 0))
            choose_range(&chosen, part - in_four, part - in_four + 4, four);
        for (int row = 0; row < t->y.height; row++) {
            const float *in = x + (size_t)c * from.plane + (size_t)row * from.row;
            float *out = y + (size_t)c * to.plane + (size_t)row * to.row;
            for (int i = 0; i < t->y.width; i++)
                drop(kept, factor, in + i * LANES, out + i * LANES);
        }
    }
}

void KERNEL(dropout2d)(const layer_task *t) {
    if (t->ids)
        drop_parts(t, t->x.data, (rows){t->x.row, t->x.plane}, t->y.data,
                   (rows){t->y.row, t->y.plane});
    else
        KERNEL(sum)(&t->x, NULL, &t->y);
}

void KERNEL(dropout2d_backward)(const layer_task *t) {
    const size_t row = (size_t)(t->y.width * LANES);
    const rows dense = {row, (size_t)t->y.height * row};
    drop_parts(t, t->dy, dense, t->dx, dense);
}

void KERNEL(stochastic_depth)(const layer_task *t) {
    KERNEL(dropout2d)(t);
}

void KERNEL(stochastic_depth_backward)(const layer_task *t) {
    KERNEL(dropout2d_backward)(t);
}
