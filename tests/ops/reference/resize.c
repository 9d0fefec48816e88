// SPDX-License-Identifier: MIT
// Zero padding, and upsampling.
#include <stdbool.h>
#include <string.h>

#include "../reference.h"

static size_t index_of(shape s, int n, int c, int y, int x) {
    return (((size_t)n * (size_t)s.channels + (size_t)c) * (size_t)s.height + (size_t)y) *
               (size_t)s.width +
           (size_t)x;
}

#define EACH_VALUE(samples, s, n, c, y, x)       \
    for (int n = 0; n < (samples); n++)          \
        for (int c = 0; c < (s).channels; c++)   \
            for (int y = 0; y < (s).height; y++) \
                for (int x = 0; x < (s).width; x++)

static bool is_inside(shape s, int c, int y, int x) {
    return c >= 0 && c < s.channels && y >= 0 && y < s.height && x >= 0 && x < s.width;
}

static void zero_pad(const reference_task *t) {
    const layer *l = t->l;
    EACH_VALUE(t->samples, l->out, n, c, y, x) {
        const int channel = c - l->pad_c, row = y - l->pad_h, column = x - l->pad_w;
        const bool inside = is_inside(l->in, channel, row, column);
        t->y[index_of(l->out, n, c, y, x)] =
            inside ? t->x[index_of(l->in, n, channel, row, column)] : 0;
    }
}

static void zero_pad_backward(const reference_task *t) {
    const layer *l = t->l;
    EACH_VALUE(t->samples, l->in, n, c, y, x) {
        const int channel = c + l->pad_c, row = y + l->pad_h, column = x + l->pad_w;
        const bool inside = is_inside(l->out, channel, row, column);
        t->dx[index_of(l->in, n, c, y, x)] =
            inside ? t->dy[index_of(l->out, n, channel, row, column)] : 0;
    }
}

// The value of the input that a value of the output is.
static size_t source(const layer *l, int n, int c, int y, int x) {
    return index_of(l->in, n, c, y / l->stride_h, x / l->stride_w);
}

static void upsample(const reference_task *t) {
    EACH_VALUE(t->samples, t->l->out, n, c, y, x)
    t->y[index_of(t->l->out, n, c, y, x)] = t->x[source(t->l, n, c, y, x)];
}

static void upsample_backward(const reference_task *t) {
    memset(t->dx, 0, (size_t)t->samples * shape_size(t->l->in) * sizeof *t->dx);
    EACH_VALUE(t->samples, t->l->out, n, c, y, x)
    t->dx[source(t->l, n, c, y, x)] += t->dy[index_of(t->l->out, n, c, y, x)];
}

const reference_layer reference_zero_pad = {.forward = zero_pad, .backward = zero_pad_backward};
const reference_layer reference_upsample = {.forward = upsample, .backward = upsample_backward};
