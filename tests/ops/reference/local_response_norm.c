// SPDX-License-Identifier: MIT
// Local response normalisation (Krizhevsky, Sutskever and Hinton 2012), as PyTorch defines it.
#include <math.h>

#include "../reference.h"

// Value i of all samples: its channel, and its distance from the same value of the next channel.
typedef struct value {
    size_t at, step;
    int channel;
} value;

static value value_at(const layer *l, size_t i) {
    const size_t step = (size_t)l->in.height * (size_t)l->in.width;
    return (value){i, step, (int)(i / step % (size_t)l->in.channels)};
}

static value neighbour(value v, int channel) {
    return (value){v.at + (size_t)channel * v.step - (size_t)v.channel * v.step, v.step, channel};
}

// Is channel j in the window of channel c?
static bool is_inside(const layer *l, int c, int j) {
    return j >= c - l->window / 2 && j <= c + (l->window - 1) / 2;
}

// k + alpha / size · the sum of squares.
static double sum_of(const reference_task *t, value v) {
    double sum = 0;
    for (int j = 0; j < t->l->in.channels; j++) {
        const double x = t->x[neighbour(v, j).at];
        if (is_inside(t->l, v.channel, j)) sum += x * x;
    }
    return t->l->k + t->l->alpha / t->l->window * sum;
}

static void local_response_norm(const reference_task *t) {
    for (size_t i = 0; i < (size_t)t->samples * shape_size(t->l->in); i++)
        t->y[i] = t->x[i] / pow(sum_of(t, value_at(t->l, i)), t->l->beta);
}

static void local_response_norm_backward(const reference_task *t) {
    const layer *l = t->l;
    for (size_t i = 0; i < (size_t)t->samples * shape_size(l->in); i++) {
        const value own = value_at(l, i);
        double sum = 0;
        for (int j = 0; j < l->in.channels; j++) {
            const value other = neighbour(own, j);
            if (is_inside(l, j, own.channel))
                sum += t->dy[other.at] * t->x[other.at] / pow(sum_of(t, other), l->beta + 1);
        }
        t->dx[i] = t->dy[i] / pow(sum_of(t, own), l->beta) -
                   2 * l->alpha * l->beta / l->window * t->x[i] * sum;
    }
}

const reference_layer reference_local_response_norm = {.forward = local_response_norm,
                                                       .backward = local_response_norm_backward};
