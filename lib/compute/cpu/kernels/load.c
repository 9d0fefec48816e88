// From bytes of images, sample by sample, to floats of a group, samples innermost.
#include "simd.h"

typedef uint8_t sixteen __attribute__((vector_size(GROUP), may_alias));

INLINE sixteen bytes_low(sixteen a, sixteen b) {
    return SHUFFLE(sixteen, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

INLINE sixteen bytes_high(sixteen a, sixteen b) {
    return SHUFFLE(sixteen, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// 16×16 bytes, as simd.h's transpose does it.
INLINE void transpose_bytes(sixteen *rows) {
    sixteen next[GROUP];
    UNROLL for (int round = 0; round < 4; round++) {
        UNROLL for (int i = 0; i < GROUP / 2; i++) {
            next[2 * i] = bytes_low(rows[i], rows[i + GROUP / 2]);
            next[2 * i + 1] = bytes_high(rows[i], rows[i + GROUP / 2]);
        }
        UNROLL for (int i = 0; i < GROUP; i++) rows[i] = next[i];
    }
}

// `count` ≤ 16 neighbouring pixels of 16 samples become `count` rows of 16 lanes.
INLINE void load_run(const uint8_t *const *from, const int count, float scale, float shift,
                     float *to) {
    sixteen rows[GROUP];
    for (int n = 0; n < GROUP; n++) {
        rows[n] = (sixteen){0};
        memcpy(&rows[n], from[n], (size_t)count);
    }
    transpose_bytes(rows);
    for (int i = 0; i < count; i++)
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            const vec v = to_floats(load_bytes((const uint8_t *)&rows[i] + slice * VL));
            vstore(to + i * GROUP + slice * VL, vfma(v, vset(scale), vset(shift)));
        }
}

void KERNEL(load)(const uint8_t *const *pixels, int samples, const float *scale, const float *shift,
                  const view *x) {
    for (int c = 0; c < x->channels; c++)
        for (int y = 0; y < x->height; y++) {
            size_t at = ((size_t)c * (size_t)x->height + (size_t)y) * (size_t)x->width;
            float *row = x->data + (size_t)c * x->plane + (size_t)y * x->row;
            for (int i = 0; i < x->width; i += GROUP) {
                const uint8_t *from[GROUP];
                for (int n = 0; n < GROUP; n++) from[n] = pixels[n < samples ? n : 0] + at + i;
                if (x->width - i >= GROUP)
                    load_run(from, GROUP, scale[c], shift[c], row + i * GROUP);
                else
                    load_run(from, x->width - i, scale[c], shift[c], row + i * GROUP);
            }
        }
}
