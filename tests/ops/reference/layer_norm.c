// SPDX-License-Identifier: MIT
// Layer normalisation (Ba, Kiros and Hinton 2016), over the channels of each position.
#include <math.h>

#include "../reference.h"

// The channels at one position of one sample, `step` values apart, and their statistics.
typedef struct column {
    size_t first, step, channels;
    double mean, inv_std;
} column;

static size_t positions(const layer *l) {
    return (size_t)l->in.height * (size_t)l->in.width;
}

// Column i of all samples.
static column column_of(const reference_task *t, size_t i) {
    const size_t step = positions(t->l), sample = i / step;
    column k = {.first = sample * shape_size(t->l->in) + i % step,
                .step = step,
                .channels = (size_t)t->l->in.channels};
    double squares = 0;
    for (size_t c = 0; c < k.channels; c++) k.mean += t->x[k.first + c * step];
    k.mean /= (double)k.channels;
    for (size_t c = 0; c < k.channels; c++) {
        const double d = t->x[k.first + c * step] - k.mean;
        squares += d * d;
    }
    k.inv_std = 1 / sqrt(squares / (double)k.channels + t->l->eps);
    return k;
}

static double normalised(const reference_task *t, const column *k, size_t c) {
    return (t->x[k->first + c * k->step] - k->mean) * k->inv_std;
}

static void layer_norm(const reference_task *t) {
    for (size_t i = 0; i < (size_t)t->samples * positions(t->l); i++) {
        const column k = column_of(t, i);
        for (size_t c = 0; c < k.channels; c++)
            t->y[k.first + c * k.step] = t->weight[c] * normalised(t, &k, c) + t->bias[c];
    }
}

// With x̂ = (x - mean) / std and d = weight · dy: dx = (d - mean(d) - x̂ · mean(d · x̂)) / std.
static void column_backward(const reference_task *t, const column *k) {
    double sum = 0, sum_xhat = 0;
    for (size_t c = 0; c < k->channels; c++) {
        const double dy = t->dy[k->first + c * k->step], xhat = normalised(t, k, c);
        t->dweight[c] += dy * xhat;
        t->dbias[c] += dy;
        sum += t->weight[c] * dy;
        sum_xhat += t->weight[c] * dy * xhat;
    }
    const double mean = sum / (double)k->channels, slope = sum_xhat / (double)k->channels;
    for (size_t c = 0; c < k->channels && t->dx; c++) {
        const size_t at = k->first + c * k->step;
        t->dx[at] = k->inv_std * (t->weight[c] * t->dy[at] - mean - normalised(t, k, c) * slope);
    }
}

static void layer_norm_backward(const reference_task *t) {
    for (size_t i = 0; i < (size_t)t->samples * positions(t->l); i++) {
        const column k = column_of(t, i);
        column_backward(t, &k);
    }
}

const reference_layer reference_layer_norm = {.forward = layer_norm,
                                              .backward = layer_norm_backward};
