// SPDX-License-Identifier: MIT
// Activations that need the exponential, element by element: GELU and SiLU, as in PyTorch (GELU by
// the error function, not by its approximation with tanh).
#include "exponential.h"

typedef struct slope { // of a function at one place
    vec value, derivative;
} slope;

INLINE vec absolute(vec x) {
    return (vec)((ivec)x & 0x7fffffff);
}

// erfc(z) for z ≥ 0, as t·e^(p(t) - z²), t = 1 / (1 + z/2). p is of degree 9 and goes through
// ln(erfc(z) / t) + z² at the ten Chebyshev nodes of z in [0, 9.4]; it is off by less than 6e-8.
// For larger z erfc(z) is below 1e-38.
INLINE vec erfc_of(vec z) {
    const vec t = vset(1.0f) / vfma(z, vset(0.5f), vset(1.0f));
    vec p = vset(0x1.2330p-3f);
    p = vfma(p, t, vset(-0x1.54cb6cp-1f));
    p = vfma(p, t, vset(0x1.1ec8c4p+0f));
    p = vfma(p, t, vset(-0x1.4b108cp-1f));
    p = vfma(p, t, vset(-0x1.f55cd4p-4f));
    p = vfma(p, t, vset(0x1.8e5edep-6f));
    p = vfma(p, t, vset(0x1.b22544p-6f));
    p = vfma(p, t, vset(0x1.8db8e6p-2f));
    p = vfma(p, t, vset(0x1.ff30dp-1f));
    p = vfma(p, t, vset(-0x1.43f3aep+0f));
    return t * exponential(vfma(-z, z, p));
}

// x·Φ(x), Φ the distribution function of the standard normal distribution. Its derivative is Φ(x) +
// x·φ(x). Φ of a negative number is computed directly: as 1 - Φ(-x) it would lose its digits.
INLINE slope gelu(vec x, const bool DERIVATIVE) {
    const vec tail = vset(0.5f) * erfc_of(absolute(x) * vset(0x1.6a09e6p-1f)); // √½
    const vec cumulative = vselect(x < vset(0.0f), tail, vset(1.0f) - tail);
    slope s = {x * cumulative, vset(0.0f)};
    if (DERIVATIVE) {
        const vec density = vset(0x1.988454p-2f) * exponential(vset(-0.5f) * x * x); // 1 / √(2π)
        s.derivative = vfma(x, density, cumulative);
    }
    return s;
}

// x·σ(x), σ(x) = 1 / (1 + e^-x). Its derivative is σ(x) + x·σ(x)·σ(-x).
INLINE slope silu(vec x, const bool DERIVATIVE) {
    const vec e = exponential(-absolute(x)), far = vset(1.0f) / (vset(1.0f) + e), near = e * far;
    const vec sigma = vselect(x < vset(0.0f), near, far);
    return (slope){x * sigma, DERIVATIVE ? vfma(x, near * far, sigma) : vset(0.0f)};
}

INLINE slope activate(vec x, const bool GELU, const bool DERIVATIVE) {
    return GELU ? gelu(x, DERIVATIVE) : silu(x, DERIVATIVE);
}

INLINE void forward(const activation_task *t, const bool GELU) {
    const size_t row = (size_t)(t->y.width * LANES);
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            float *y = t->y.data + (size_t)c * t->y.plane + (size_t)line * t->y.row;
            for (size_t i = 0; i < row; i += VL)
                vstore(y + i, activate(vload(x + i), GELU, false).value);
        }
}

INLINE void backward(const activation_task *t, const bool GELU) {
    const size_t row = (size_t)(t->y.width * LANES);
    const float *dy = t->dy;
    float *dx = t->dx;
    for (int c = 0; c < t->y.channels; c++)
        for (int line = 0; line < t->y.height; line++, dy += row, dx += row) {
            const float *x = t->x.data + (size_t)c * t->x.plane + (size_t)line * t->x.row;
            for (size_t i = 0; i < row; i += VL)
                vstore(dx + i, vload(dy + i) * activate(vload(x + i), GELU, true).derivative);
        }
}

void KERNEL(gelu)(const activation_task *t) {
    forward(t, true);
}

void KERNEL(gelu_backward)(const activation_task *t) {
    backward(t, true);
}

void KERNEL(silu)(const activation_task *t) {
    forward(t, false);
}

void KERNEL(silu_backward)(const activation_task *t) {
    backward(t, false);
}
