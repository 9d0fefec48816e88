// SPDX-License-Identifier: MIT
// The product of two inputs. A gate has one factor for all positions of a channel.
#include "simd.h"

static const float *row_of(const view *v, int c, int y) {
    return v->data + (size_t)c * v->plane + (size_t)y * v->row;
}

INLINE void forward(const layer_task *t, const bool GATED) {
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++) {
            const float *x = row_of(&t->x, c, line),
                        *second = row_of(&t->second, c, GATED ? 0 : line);
            float *y = t->y.data + (size_t)c * t->y.plane + (size_t)line * t->y.row;
            for (int i = 0; i < t->y.width * LANES; i += VL)
                vstore(y + i, vload(x + i) * vload(second + (GATED ? i % LANES : i)));
        }
}

void KERNEL(multiply)(const layer_task *t) {
    if (t->l->gated)
        forward(t, true);
    else
        forward(t, false);
}

// ---- Backward ----

INLINE void put_second(const layer_task *t, size_t at, vec gradient) {
    float *to = t->dsecond + at;
    vstore(to, t->second_adds ? vload(to) + gradient : gradient);
}

// If both inputs are one value, dx and dsecond are too: dx is written first. Returns the sum of
// dy·x over a row, for a gate.
INLINE vec backward_row(const layer_task *t, int c, int line, int slice, const bool GATED) {
    const size_t dense =
        ((size_t)c * (size_t)t->x.height + (size_t)line) * (size_t)t->x.width * LANES;
    const float *x = row_of(&t->x, c, line), *second = row_of(&t->second, c, GATED ? 0 : line);
    vec sum = vset(0.0f);
    for (int i = slice; i < t->x.width * LANES; i += LANES) {
        const size_t at = dense + (size_t)i;
        const vec dy = vload(t->dy + at), own = vload(x + i);
        if (t->dx) vstore(t->dx + at, dy * vload(second + (GATED ? slice : i)));
        if (GATED)
            sum = vfma(dy, own, sum);
        else if (t->dsecond)
            put_second(t, at, dy * own);
    }
    return sum;
}

INLINE void backward(const layer_task *t, const bool GATED) {
    for (int c = 0; c < t->x.channels; c++)
        for (int slice = 0; slice < LANES; slice += VL) {
            vec total = vset(0.0f);
            for (int line = 0; line < t->x.height; line++)
                total += backward_row(t, c, line, slice, GATED);
            if (GATED && t->dsecond) put_second(t, (size_t)(c * LANES + slice), total);
        }
}

void KERNEL(multiply_backward)(const layer_task *t) {
    if (t->l->gated)
        backward(t, true);
    else
        backward(t, false);
}
