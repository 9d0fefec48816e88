// SPDX-License-Identifier: MIT
// Unfused pooling: any window, stride and padding. (2×2 max pooling in the epilogue of a unit is in
// epilogue.c.)
#include "compute/layer_sums.h"
#include "compute/pool_windows.h"
#include "simd.h"

typedef struct window {
    int y0, y1, x0, x1; // the part inside the image
} window;

static window window_at(const layer_task *t, int y, int x) {
    const pool_axis rows = pool_rows(t->l), columns = pool_columns(t->l);
    return (window){pool_first(rows, y), pool_end(rows, y), pool_first(columns, x),
                    pool_end(columns, x)};
}

static const float *source(const layer_task *t, int c, int y, int x) {
    return t->x.data + (size_t)c * t->x.plane + (size_t)y * t->x.row + (size_t)x * LANES;
}

static float *result(const layer_task *t, int c, int y, int x) {
    return t->y.data + (size_t)c * t->y.plane + (size_t)y * t->y.row + (size_t)x * LANES;
}

static size_t dense(const view *v, int c, int y, int x) {
    return (((size_t)c * (size_t)v->height + (size_t)y) * (size_t)v->width + (size_t)x) * LANES;
}

#define EACH_OUTPUT(t, c, y, x)                 \
    for (int c = 0; c < (t)->y.channels; c++)   \
        for (int y = 0; y < (t)->y.height; y++) \
            for (int x = 0; x < (t)->y.width; x++)

typedef struct choice {
    vec value;
    ivec which; // offset in the window
} choice;

// The largest value, the first of equals; the last NaN if there is one.
static choice pick(const layer_task *t, window w, int c, int slice) {
    choice r = {vload(source(t, c, w.y0, w.x0) + slice * VL), {0}};
    ivec which = {0};
    for (int y = w.y0; y < w.y1; y++)
        for (int x = w.x0; x < w.x1; x++, which += 1) {
            const vec v = vload(source(t, c, y, x) + slice * VL);
            const ivec better = (v > r.value) | (v != v);
            r.value = vselect(better, v, r.value);
            r.which = (which & better) | (r.which & ~better);
        }
    return r;
}

void KERNEL(max_pool)(const layer_task *t) {
    EACH_OUTPUT(t, c, y, x) {
        const window w = window_at(t, y, x);
        ivec which[LANE_SLICES];
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            const choice r = pick(t, w, c, slice);
            vstore(result(t, c, y, x) + slice * VL, r.value);
            which[slice] = r.which;
        }
        store_bytes(t->choices + dense(&t->y, c, y, x), which);
    }
}

static void clear(const layer_task *t) {
    memset(t->dx, 0, dense(&t->x, t->x.channels, 0, 0) * sizeof(float));
}

void KERNEL(max_pool_backward)(const layer_task *t) {
    clear(t);
    EACH_OUTPUT(t, c, y, x) {
        const window w = window_at(t, y, x);
        const uint8_t *argmax = t->choices + dense(&t->y, c, y, x);
        const float *dy = t->dy + dense(&t->y, c, y, x);
        for (int n = 0; n < LANES; n++) {
            int iy = w.y0 + argmax[n] / (w.x1 - w.x0), ix = w.x0 + argmax[n] % (w.x1 - w.x0);
            t->dx[dense(&t->x, c, iy, ix) + (size_t)n] += dy[n];
        }
    }
}

static float divisor_at(const layer_task *t, int y, int x) {
    return (float)(pool_counted(pool_rows(t->l), y) * pool_counted(pool_columns(t->l), x));
}

// In a large window each row is a part of a long sum.
void KERNEL(avg_pool)(const layer_task *t) {
    EACH_OUTPUT(t, c, y, x) {
        const window w = window_at(t, y, x);
        const float divisor = divisor_at(t, y, x);
        const bool parts =
            is_long_sum(pool_extent(pool_rows(t->l), y), pool_extent(pool_columns(t->l), x));
        float sum[LANES] = {0}, total[LANES] = {0}, *out = result(t, c, y, x);
        for (int iy = w.y0; iy < w.y1; iy++) {
            for (int ix = w.x0; ix < w.x1; ix++) {
                const float *v = source(t, c, iy, ix);
                for (int n = 0; n < LANES; n++) sum[n] += v[n];
            }
            for (int n = 0; parts && n < LANES; n++) {
                total[n] += sum[n];
                sum[n] = 0;
            }
        }
        for (int n = 0; n < LANES; n++) out[n] = (total[n] + sum[n]) / divisor;
    }
}

void KERNEL(adaptive_avg_pool)(const layer_task *t) {
    KERNEL(avg_pool)(t);
}

void KERNEL(avg_pool_backward)(const layer_task *t) {
    clear(t);
    EACH_OUTPUT(t, c, y, x) {
        const window w = window_at(t, y, x);
        const float divisor = divisor_at(t, y, x);
        const float *dy = t->dy + dense(&t->y, c, y, x);
        for (int iy = w.y0; iy < w.y1; iy++)
            for (int ix = w.x0; ix < w.x1; ix++) {
                float *dx = t->dx + dense(&t->x, c, iy, ix);
                for (int n = 0; n < LANES; n++) dx[n] += dy[n] / divisor;
            }
    }
}

void KERNEL(adaptive_avg_pool_backward)(const layer_task *t) {
    KERNEL(avg_pool_backward)(t);
}
