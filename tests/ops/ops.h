// SPDX-License-Identifier: MIT
// ops.h - helpers for the tests of the operations: random values, hand-made layers, distances.
#ifndef LOCKSTEP_TESTS_OPS_H
#define LOCKSTEP_TESTS_OPS_H

// cmocka needs these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "compute/program.h"

// Returns n zeros; free() them.
static inline double *ops_zeros(size_t n) {
    double *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

// Fills x with uniform values in [-1, 1), from a separate stream for each `salt`.
static inline void ops_fill(double *x, size_t n, uint32_t salt) {
    const random_stream stream = {.seed = 20240521, .purpose = RANDOM_SYNTHETIC, .sample = salt};
    for (size_t i = 0; i < n; i++) x[i] = 2 * (double)random_uniform(&stream, i) - 1;
}

static inline double *ops_random(size_t n, uint32_t salt) {
    double *x = ops_zeros(n);
    ops_fill(x, n, salt);
    return x;
}

// Returns |a - b| / |b| in the Euclidean norm; |a| if b is zero.
static inline double ops_distance(const double *a, const double *b, size_t n) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

// Fails, naming `what`, unless a is within `tolerance` of b. A NaN always fails.
static inline void ops_near(const char *what, const double *a, const double *b, size_t n,
                            double tolerance) {
    double distance = ops_distance(a, b, n);
    if (!(distance <= tolerance))
        fail_msg("%s: relative difference %.3g, more than %.3g", what, distance, tolerance);
}

// Gives the layer the defaults of its kind's numbers.
static inline void ops_default_numbers(layer *l) {
    const layer_number *n = layer_traits_of(l)->numbers;
    for (int i = 0; i < LAYER_NUMBERS && n[i].key; i++)
        *(double *)(void *)((char *)l + n[i].at) = n[i].otherwise;
}

// Returns the size of a window's output along one axis.
static inline int ops_positions(int in, int kernel, int stride, int pad) {
    return (in + 2 * pad - kernel) / stride + 1;
}

// Fills in `out` from the other fields: `outputs` channels for a convolution, the input's channels
// for a pool.
static inline void ops_finish_window(layer *l, int outputs) {
    l->out.channels = outputs;
    l->out.height = ops_positions(l->in.height, l->kernel_h, l->stride_h, l->pad_h);
    l->out.width = ops_positions(l->in.width, l->kernel_w, l->stride_w, l->pad_w);
}

#endif
