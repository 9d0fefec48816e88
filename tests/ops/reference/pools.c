// SPDX-License-Identifier: MIT
// Max and average pooling.
#include <math.h>
#include <string.h>

#include "../reference.h"

static size_t plane(shape s) {
    return (size_t)s.height * (size_t)s.width;
}

// The input under one output element.
typedef struct window {
    int top, left, bottom, right; // the part inside the input: rows top … bottom-1
    int counted;                  // positions of a mean: those, and the padding if it counts
    size_t out;                   // element of the output plane
} window;

static int min(int a, int b) {
    return a < b ? a : b;
}

// Window i of `out` along one axis begins at position ⌊i · in / out⌋, and ends before position
// ⌈(i + 1) · in / out⌉.
static window adaptive_window_at(const layer *l, int oy, int ox) {
    const shape in = l->in, out = l->out;
    window w = {.top = oy * in.height / out.height,
                .left = ox * in.width / out.width,
                .bottom = (oy * in.height + in.height + out.height - 1) / out.height,
                .right = (ox * in.width + in.width + out.width - 1) / out.width,
                .out = (size_t)oy * (size_t)out.width + (size_t)ox};
    w.counted = (w.bottom - w.top) * (w.right - w.left);
    return w;
}

static window window_at(const layer *l, int oy, int ox) {
    if (l->kind == LAYER_ADAPTIVE_AVG_POOL) return adaptive_window_at(l, oy, ox);
    window w = {.top = oy * l->stride_h - l->pad_h,
                .left = ox * l->stride_w - l->pad_w,
                .out = (size_t)oy * (size_t)l->out.width + (size_t)ox};
    w.bottom = min(w.top + l->kernel_h, l->in.height + l->pad_h);
    w.right = min(w.left + l->kernel_w, l->in.width + l->pad_w);
    w.counted = (w.bottom - w.top) * (w.right - w.left);
    w.bottom = min(w.bottom, l->in.height);
    w.right = min(w.right, l->in.width);
    if (w.top < 0) w.top = 0;
    if (w.left < 0) w.left = 0;
    if (l->leaves_out_pad) w.counted = (w.bottom - w.top) * (w.right - w.left);
    return w;
}

// The place of the first maximum of a window in the input plane, or of its last NaN.
static size_t argmax(const layer *l, const double *x, window w) {
    size_t best = (size_t)w.top * (size_t)l->in.width + (size_t)w.left;
    for (int y = w.top; y < w.bottom; y++) {
        for (int i = w.left; i < w.right; i++) {
            size_t at = (size_t)y * (size_t)l->in.width + (size_t)i;
            if (x[at] > x[best] || isnan(x[at])) best = at;
        }
    }
    return best;
}

static double average(const layer *l, const double *x, window w) {
    double sum = 0;
    for (int y = w.top; y < w.bottom; y++)
        for (int i = w.left; i < w.right; i++)
            sum += x[(size_t)y * (size_t)l->in.width + (size_t)i];
    return sum / w.counted;
}

static void average_backward(const layer *l, double g, window w, double *dx) {
    for (int y = w.top; y < w.bottom; y++)
        for (int i = w.left; i < w.right; i++)
            dx[(size_t)y * (size_t)l->in.width + (size_t)i] += g / w.counted;
}

static void max_pool(const reference_task *t) {
    const layer *l = t->l;
    const double *x = t->x;
    double *y = t->y;
    for (int k = 0; k < t->samples * l->in.channels; k++, x += plane(l->in), y += plane(l->out)) {
        for (int oy = 0; oy < l->out.height; oy++) {
            for (int ox = 0; ox < l->out.width; ox++) {
                window w = window_at(l, oy, ox);
                y[w.out] = x[argmax(l, x, w)];
            }
        }
    }
}

static void max_pool_backward(const reference_task *t) {
    const layer *l = t->l;
    const double *x = t->x, *dy = t->dy;
    double *dx = t->dx;
    memset(dx, 0, (size_t)t->samples * shape_size(l->in) * sizeof *dx);
    for (int k = 0; k < t->samples * l->in.channels; k++) {
        for (int oy = 0; oy < l->out.height; oy++) {
            for (int ox = 0; ox < l->out.width; ox++) {
                window w = window_at(l, oy, ox);
                dx[argmax(l, x, w)] += dy[w.out];
            }
        }
        x += plane(l->in), dx += plane(l->in), dy += plane(l->out);
    }
}

static void avg_pool(const reference_task *t) {
    const layer *l = t->l;
    const double *x = t->x;
    double *y = t->y;
    for (int k = 0; k < t->samples * l->in.channels; k++, x += plane(l->in), y += plane(l->out)) {
        for (int oy = 0; oy < l->out.height; oy++) {
            for (int ox = 0; ox < l->out.width; ox++) {
                window w = window_at(l, oy, ox);
                y[w.out] = average(l, x, w);
            }
        }
    }
}

static void avg_pool_backward(const reference_task *t) {
    const layer *l = t->l;
    const double *dy = t->dy;
    double *dx = t->dx;
    memset(dx, 0, (size_t)t->samples * shape_size(l->in) * sizeof *dx);
    for (int k = 0; k < t->samples * l->in.channels; k++, dx += plane(l->in), dy += plane(l->out)) {
        for (int oy = 0; oy < l->out.height; oy++) {
            for (int ox = 0; ox < l->out.width; ox++) {
                window w = window_at(l, oy, ox);
                average_backward(l, dy[w.out], w, dx);
            }
        }
    }
}

// Of equal values in a window the first one in row-major order wins. Padding never wins.
const reference_layer reference_max_pool = {.forward = max_pool, .backward = max_pool_backward};

// Padding counts as zeros, unless it is left out. What a window has beyond it never counts.
const reference_layer reference_avg_pool = {.forward = avg_pool, .backward = avg_pool_backward};
const reference_layer reference_adaptive_avg_pool = {.forward = avg_pool,
                                                     .backward = avg_pool_backward};
