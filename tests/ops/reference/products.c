// SPDX-License-Identifier: MIT
// Convolution and linear layers, as sums of products written out.
#include <string.h>

#include "../reference.h"

// Finds the position in the input under kernel element (ky, kx) for the output at (oy, ox). False:
// it is in the padding.
static bool source(const layer *l, int oy, int ox, int ky, int kx, size_t *position) {
    int y = oy * l->stride_h + ky - l->pad_h;
    int x = ox * l->stride_w + kx - l->pad_w;
    if (y < 0 || y >= l->in.height || x < 0 || x >= l->in.width) return false;
    *position = (size_t)y * (size_t)l->in.width + (size_t)x;
    return true;
}

// Channels that an output channel reads.
static int channels_read(const layer *l) {
    return l->in.channels / layer_groups(l);
}

// The first of these, for output channel o.
static size_t first_channel(const layer *l, int o) {
    return (size_t)(o / (l->out.channels / layer_groups(l)) * channels_read(l));
}

// The sum for one output element; x are the channels of one sample that it reads, weight belongs to
// one output channel.
static double conv_element(const layer *l, const double *x, const double *weight, int oy, int ox) {
    const size_t plane = (size_t)l->in.height * (size_t)l->in.width;
    double sum = 0;
    for (int c = 0; c < channels_read(l); c++, x += plane) {
        for (int ky = 0; ky < l->kernel_h; ky++) {
            for (int kx = 0; kx < l->kernel_w; kx++, weight++) {
                size_t at;
                if (source(l, oy, ox, ky, kx, &at)) sum += *weight * x[at];
            }
        }
    }
    return sum;
}

static void conv(const reference_task *t) {
    const layer *l = t->l;
    const double *x = t->x;
    double *y = t->y;
    const size_t kernel = layer_weights(l) / (size_t)l->out.channels;
    const size_t plane = (size_t)l->in.height * (size_t)l->in.width;
    for (int n = 0; n < t->samples; n++, x += shape_size(l->in)) {
        for (int o = 0; o < l->out.channels; o++) {
            const double *read = x + first_channel(l, o) * plane;
            for (int oy = 0; oy < l->out.height; oy++) {
                for (int ox = 0; ox < l->out.width; ox++) {
                    double sum = conv_element(l, read, t->weight + (size_t)o * kernel, oy, ox);
                    *y++ = sum + (t->bias ? t->bias[o] : 0);
                }
            }
        }
    }
}

// Adds the contribution of one output element with gradient g to the gradients. x and dx begin with
// the first channel that it reads.
static void conv_element_backward(const layer *l, const double *x, const double *weight, int oy,
                                  int ox, double g, double *dx, double *dweight) {
    const size_t plane = (size_t)l->in.height * (size_t)l->in.width;
    for (int c = 0; c < channels_read(l); c++) {
        for (int ky = 0; ky < l->kernel_h; ky++) {
            for (int kx = 0; kx < l->kernel_w; kx++, weight++, dweight++) {
                size_t at;
                if (!source(l, oy, ox, ky, kx, &at)) continue;
                at += (size_t)c * plane;
                *dweight += g * x[at];
                if (dx) dx[at] += g * *weight;
            }
        }
    }
}

static void conv_backward(const reference_task *t) {
    const layer *l = t->l;
    const double *dy = t->dy;
    const size_t kernel = layer_weights(l) / (size_t)l->out.channels;
    const size_t size = shape_size(l->in), plane = (size_t)l->in.height * (size_t)l->in.width;
    if (t->dx) memset(t->dx, 0, (size_t)t->samples * size * sizeof *t->dx);
    for (int n = 0; n < t->samples; n++) {
        for (int o = 0; o < l->out.channels; o++) {
            const size_t first = (size_t)n * size + first_channel(l, o) * plane;
            const double *read = t->x + first, *weight = t->weight + (size_t)o * kernel;
            double *dread = t->dx ? t->dx + first : NULL;
            double *dweight = t->dweight + (size_t)o * kernel;
            for (int oy = 0; oy < l->out.height; oy++) {
                for (int ox = 0; ox < l->out.width; ox++) {
                    double g = *dy++;
                    conv_element_backward(l, read, weight, oy, ox, g, dread, dweight);
                    if (t->dbias) t->dbias[o] += g;
                }
            }
        }
    }
}

static void linear(const reference_task *t) {
    const size_t inputs = shape_size(t->l->in), outputs = shape_size(t->l->out);
    const double *x = t->x;
    double *y = t->y;
    for (int n = 0; n < t->samples; n++, x += inputs) {
        for (size_t o = 0; o < outputs; o++) {
            double sum = t->bias ? t->bias[o] : 0;
            for (size_t i = 0; i < inputs; i++) sum += t->weight[o * inputs + i] * x[i];
            *y++ = sum;
        }
    }
}

static void linear_backward(const reference_task *t) {
    const size_t inputs = shape_size(t->l->in), outputs = shape_size(t->l->out);
    const double *x = t->x, *dy = t->dy;
    if (t->dx) memset(t->dx, 0, (size_t)t->samples * inputs * sizeof *t->dx);
    for (int n = 0; n < t->samples; n++, x += inputs, dy += outputs) {
        for (size_t o = 0; o < outputs; o++) {
            for (size_t i = 0; i < inputs; i++) {
                t->dweight[o * inputs + i] += dy[o] * x[i];
                if (t->dx) t->dx[(size_t)n * inputs + i] += dy[o] * t->weight[o * inputs + i];
            }
            if (t->dbias) t->dbias[o] += dy[o];
        }
    }
}

const reference_layer reference_conv = {.forward = conv, .backward = conv_backward};
const reference_layer reference_linear = {.forward = linear, .backward = linear_backward};
