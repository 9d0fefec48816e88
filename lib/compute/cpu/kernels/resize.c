// SPDX-License-Identifier: MIT
// Zero padding, and upsampling: values at other positions.
#include "compute/layer_sums.h"
#include "simd.h"

static size_t offset(const view *v, int c, int y, int x) {
    return (size_t)c * v->plane + (size_t)y * v->row + (size_t)x * LANES;
}

static float *at(const view *v, int c, int y, int x) {
    return v->data + offset(v, c, y, x);
}

static size_t dense(const view *v, int c, int y, int x) {
    return (((size_t)c * (size_t)v->height + (size_t)y) * (size_t)v->width + (size_t)x) * LANES;
}

// A view of values of this shape without gaps.
static view dense_view(const view *v) {
    const size_t row = (size_t)v->width * LANES;
    return (view){NULL, v->channels, v->height, v->width, row, row * (size_t)v->height};
}

static size_t row_bytes(const view *v) {
    return (size_t)v->width * LANES * sizeof(float);
}

// ---- Zero padding ----

#define EACH_ROW(v, c, y)                   \
    for (int c = 0; c < (v)->channels; c++) \
        for (int y = 0; y < (v)->height; y++)

// y(c + channels, row + rows, column + columns) = x(c, row, column) where both exist, else 0.
static void shift(const float *from, const view *x, float *to, const view *y, int channels,
                  int rows, int columns) {
    const int first = columns > 0 ? columns : 0;
    const int end = x->width + columns < y->width ? x->width + columns : y->width;
    EACH_ROW(y, c, row) {
        const int channel = c - channels, above = row - rows;
        memset(to + offset(y, c, row, 0), 0, row_bytes(y));
        if (channel >= 0 && channel < x->channels && above >= 0 && above < x->height && first < end)
            memcpy(to + offset(y, c, row, first), from + offset(x, channel, above, first - columns),
                   (size_t)(end - first) * LANES * sizeof *to);
    }
}

void KERNEL(zero_pad)(const layer_task *t) {
    shift(t->x.data, &t->x, t->y.data, &t->y, t->l->pad_c, t->l->pad_h, t->l->pad_w);
}

void KERNEL(zero_pad_backward)(const layer_task *t) {
    const view y = dense_view(&t->y), x = dense_view(&t->x);
    shift(t->dy, &y, t->dx, &x, -t->l->pad_c, -t->l->pad_h, -t->l->pad_w);
}

// ---- Upsampling: each value becomes stride_h rows and stride_w columns ----

void KERNEL(upsample)(const layer_task *t) {
    const layer *l = t->l;
    EACH_ROW(&t->x, c, y) {
        float *first = at(&t->y, c, y * l->stride_h, 0);
        for (int x = 0; x < t->y.width; x++)
            memcpy(first + x * LANES, at(&t->x, c, y, x / l->stride_w), LANES * sizeof *first);
        for (int i = 1; i < l->stride_h; i++)
            memcpy(at(&t->y, c, y * l->stride_h + i, 0), first, row_bytes(&t->y));
    }
}

// If a value has many copies, each of their rows is a part of a long sum.
void KERNEL(upsample_backward)(const layer_task *t) {
    const layer *l = t->l;
    const bool parts = is_long_sum(l->stride_h, l->stride_w);
    EACH_ROW(&t->x, c, y)
    for (int x = 0; x < t->x.width; x++) {
        float sum[LANES] = {0}, total[LANES] = {0}, *dx = t->dx + dense(&t->x, c, y, x);
        for (int i = 0; i < l->stride_h; i++) {
            const float *dy = t->dy + dense(&t->y, c, y * l->stride_h + i, x * l->stride_w);
            for (int k = 0; k < l->stride_w; k++, dy += LANES)
                for (int n = 0; n < LANES; n++) sum[n] += dy[n];
            for (int n = 0; parts && n < LANES; n++) {
                total[n] += sum[n];
                sum[n] = 0;
            }
        }
        for (int n = 0; n < LANES; n++) dx[n] = total[n] + sum[n];
    }
}
