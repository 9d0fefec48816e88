// SPDX-License-Identifier: MIT
// Converts the bytes of images, sample by sample, to the floats of a group, samples innermost.
#include "simd.h"

enum { RUN = 16 }; // pixels that are transposed together
typedef uint8_t sixteen __attribute__((vector_size(RUN), may_alias));

INLINE sixteen bytes_low(sixteen a, sixteen b) {
    return SHUFFLE(sixteen, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

INLINE sixteen bytes_high(sixteen a, sixteen b) {
    return SHUFFLE(sixteen, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Transposes 16×16 bytes by the method of transpose in simd.h.
INLINE void transpose_bytes(sixteen *rows) {
    sixteen next[RUN];
    UNROLL for (int round = 0; round < 4; round++) {
        UNROLL for (int i = 0; i < RUN / 2; i++) {
            next[2 * i] = bytes_low(rows[i], rows[i + RUN / 2]);
            next[2 * i + 1] = bytes_high(rows[i], rows[i + RUN / 2]);
        }
        UNROLL for (int i = 0; i < RUN; i++) rows[i] = next[i];
    }
}

// `count` ≤ RUN neighbouring pixels of all samples become `count` rows of LANES.
INLINE void load_run(const uint8_t *const *from, const int count, float scale, float shift,
                     float *to) {
    sixteen rows[RUN] = {{0}};
    for (int n = 0; n < LANES; n++) memcpy(&rows[n], from[n], (size_t)count);
    transpose_bytes(rows);
    for (int i = 0; i < count; i++)
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            const vec v = to_floats(load_bytes((const uint8_t *)&rows[i] + slice * VL));
            vstore(to + i * LANES + slice * VL, vfma(v, vset(scale), vset(shift)));
        }
}

void KERNEL(load)(const load_task *t) {
    const view *x = &t->x;
    for (int c = 0; c < x->channels; c++)
        for (int y = 0; y < x->height; y++) {
            const size_t at = t->first + (size_t)c * t->plane + (size_t)y * (size_t)x->width;
            float *row = x->data + (size_t)c * x->plane + (size_t)y * x->row;
            for (int i = 0; i < x->width; i += RUN) {
                const uint8_t *from[LANES];
                for (int n = 0; n < LANES; n++)
                    from[n] = t->pixels[n < t->samples ? n : 0] + at + i;
                if (x->width - i >= RUN)
                    load_run(from, RUN, t->scale[c], t->shift[c], row + i * LANES);
                else
                    load_run(from, x->width - i, t->scale[c], t->shift[c], row + i * LANES);
            }
        }
}
