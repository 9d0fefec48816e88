// SPDX-License-Identifier: MIT
// Shuffle: the groups of channels take turns.
#include "simd.h"

static size_t source(const layer *l, int c) {
    return (size_t)shuffled_channel(l->in.channels, l->groups, c);
}

void KERNEL(shuffle)(const layer_task *t) {
    for (int c = 0; c < t->y.channels; c++) {
        view from = t->x, to = t->y;
        from.data += source(t->l, c) * from.plane;
        to.data += (size_t)c * to.plane;
        from.channels = to.channels = 1;
        KERNEL(sum)(&from, NULL, &to);
    }
}

void KERNEL(shuffle_backward)(const layer_task *t) {
    const size_t plane = (size_t)t->x.height * (size_t)t->x.width * LANES;
    for (int c = 0; c < t->x.channels; c++)
        memcpy(t->dx + source(t->l, c) * plane, t->dy + (size_t)c * plane, plane * sizeof *t->dx);
}
