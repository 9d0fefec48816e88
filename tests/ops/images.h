// SPDX-License-Identifier: MIT
// images.h - activations in the layout of the CPU's kernels, for tests that call these one by one.
#ifndef LOCKSTEP_TESTS_IMAGES_H
#define LOCKSTEP_TESTS_IMAGES_H

#include "ops.h"

#include "compute/cpu/kernels.h"

// Returns n floats for a kernel; free() them.
static inline float *image_floats(size_t n) {
    float *f = aligned_alloc(64, (n * sizeof *f + 63) / 64 * 64);
    assert_non_null(f);
    return f;
}

static inline float *floats_of(const double *values, size_t n) {
    float *f = image_floats(n);
    for (size_t i = 0; i < n; i++) f[i] = (float)values[i];
    return f;
}

// Images of `lanes` samples, with `border` zero columns between rows; free(memory).
typedef struct image {
    float *memory;
    view v;
} image;

// The values are [sample][channel][row][column]; NULL: zeros.
static inline image image_new(shape s, int lanes, int border, const double *values) {
    enum { SLACK = 64 }; // kernels read some floats past the end
    const size_t side = (size_t)(border * lanes + GROUP - 1) / GROUP * GROUP;
    const size_t row = (size_t)(s.width + border) * (size_t)lanes, plane = (size_t)s.height * row;
    const size_t floats = 2 * side + (size_t)s.channels * plane + SLACK;
    image i = {.memory = image_floats(floats)};
    memset(i.memory, 0, floats * sizeof *i.memory);
    i.v = (view){i.memory + side, s.channels, s.height, s.width, row, plane};
    for (int n = 0; values && n < lanes; n++)
        for (int c = 0; c < s.channels; c++)
            for (int y = 0; y < s.height; y++)
                for (int x = 0; x < s.width; x++)
                    i.v.data[(size_t)c * plane + (size_t)y * row + (size_t)(x * lanes + n)] =
                        (float)*values++;
    return i;
}

// Returns the values; free() them.
static inline double *image_values(const image *i, int lanes) {
    const view *v = &i->v;
    double *values = ops_zeros((size_t)(lanes * v->channels * v->height * v->width)), *to = values;
    for (int n = 0; n < lanes; n++)
        for (int c = 0; c < v->channels; c++)
            for (int y = 0; y < v->height; y++)
                for (int x = 0; x < v->width; x++)
                    *to++ = (double)v->data[(size_t)c * v->plane + (size_t)y * v->row +
                                            (size_t)(x * lanes + n)];
    return values;
}

#endif
