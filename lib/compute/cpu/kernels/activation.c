// SPDX-License-Identifier: MIT
// Activations as separate layers.
#include "activation.h"

INLINE void forward(const activation_task *t, const activation_kind A) {
    const size_t row = (size_t)(t->y.width * LANES);
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            float *y = t->y.data + (size_t)c * t->y.plane + (size_t)line * t->y.row;
            for (size_t i = 0; i < row; i += VL)
                vstore(y + i, activate(vload(x + i), vset(t->factor), A, false).value);
        }
}

INLINE void backward(const activation_task *t, const activation_kind A) {
    const size_t row = (size_t)(t->y.width * LANES);
    const float *dy = t->dy;
    float *dx = t->dx;
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++, dy += row, dx += row) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            for (size_t i = 0; i < row; i += VL) {
                const slope s = activate(vload(x + i), vset(t->factor), A, true);
                vstore(dx + i, vload(dy + i) * s.derivative);
            }
        }
}

void KERNEL(activation)(const activation_task *t) {
    switch (t->kind) {
    case ACTIVATION_GELU: forward(t, ACTIVATION_GELU); break;
    case ACTIVATION_SILU: forward(t, ACTIVATION_SILU); break;
    case ACTIVATION_SCALE: forward(t, ACTIVATION_SCALE); break;
    case ACTIVATION_NONE:
    case ACTIVATION_RELU: break; // never unfused
    }
}

void KERNEL(activation_backward)(const activation_task *t) {
    switch (t->kind) {
    case ACTIVATION_GELU: backward(t, ACTIVATION_GELU); break;
    case ACTIVATION_SILU: backward(t, ACTIVATION_SILU); break;
    case ACTIVATION_SCALE: backward(t, ACTIVATION_SCALE); break;
    case ACTIVATION_NONE:
    case ACTIVATION_RELU: break; // never unfused
    }
}
