// SPDX-License-Identifier: MIT
// Activations as separate layers.
#include "activation.h"

INLINE void forward(const layer_task *t, const activation_kind A) {
    const size_t row = (size_t)(t->y.width * LANES);
    const activation_numbers numbers = layer_activation_numbers(t->l);
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            float *y = t->y.data + (size_t)c * t->y.plane + (size_t)line * t->y.row;
            for (size_t i = 0; i < row; i += VL)
                vstore(y + i, activate(vload(x + i), numbers, A, false).value);
        }
}

INLINE void backward(const layer_task *t, const activation_kind A) {
    const size_t row = (size_t)(t->y.width * LANES);
    const activation_numbers numbers = layer_activation_numbers(t->l);
    const float *dy = t->dy;
    float *dx = t->dx;
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++, dy += row, dx += row) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            for (size_t i = 0; i < row; i += VL) {
                const slope s = activate(vload(x + i), numbers, A, true);
                vstore(dx + i, vload(dy + i) * s.derivative);
            }
        }
}

#define KERNELS_OF(to, KIND, word, ...)                 \
    void KERNEL(word)(const layer_task *t) {            \
        forward(t, ACTIVATION_##KIND);                  \
    }                                                   \
    void KERNEL(word##_backward)(const layer_task *t) { \
        backward(t, ACTIVATION_##KIND);                 \
    }
SMOOTH_LAYERS(KERNELS_OF, )
KERNELS_OF(, SCALE, scale)
