// SPDX-License-Identifier: MIT
// Group normalisation (Wu and He 2018): of each sample by itself.
#include <math.h>

#include "../reference.h"

// The channels of one group, of one sample, and their statistics.
typedef struct part {
    int first_channel, channels;
    size_t positions, first, count; // values [first, first + count) of the activation
    double mean, inv_std;
} part;

static part part_of(const layer *l, int n, int group, const double *x) {
    const int channels = l->in.channels / l->groups;
    part p = {.first_channel = group * channels,
              .channels = channels,
              .positions = (size_t)l->in.height * (size_t)l->in.width};
    p.count = (size_t)channels * p.positions;
    p.first = (size_t)n * shape_size(l->in) + (size_t)group * p.count;
    double squares = 0;
    for (size_t i = 0; i < p.count; i++) p.mean += x[p.first + i];
    p.mean /= (double)p.count;
    for (size_t i = 0; i < p.count; i++)
        squares += (x[p.first + i] - p.mean) * (x[p.first + i] - p.mean);
    p.inv_std = 1 / sqrt(squares / (double)p.count + l->eps);
    return p;
}

static size_t channel_of(const part *p, size_t i) {
    return (size_t)p->first_channel + i / p->positions;
}

static void group_norm(const reference_task *t) {
    for (int n = 0; n < t->samples; n++)
        for (int g = 0; g < t->l->groups; g++) {
            const part p = part_of(t->l, n, g, t->x);
            for (size_t i = 0; i < p.count; i++) {
                const size_t c = channel_of(&p, i), k = p.first + i;
                t->y[k] = t->weight[c] * (t->x[k] - p.mean) * p.inv_std + t->bias[c];
            }
        }
}

// With x̂ = (x - mean) / std and d = weight · dy: dx = (d - mean(d) - x̂ · mean(d · x̂)) / std.
static void part_backward(const reference_task *t, const part *p) {
    const double *x = t->x, *weight = t->weight, *dy = t->dy;
    double sum = 0, sum_xhat = 0;
    for (size_t i = 0; i < p->count; i++) {
        const size_t c = channel_of(p, i), k = p->first + i;
        const double xhat = (x[k] - p->mean) * p->inv_std;
        t->dweight[c] += dy[k] * xhat;
        t->dbias[c] += dy[k];
        sum += weight[c] * dy[k];
        sum_xhat += weight[c] * dy[k] * xhat;
    }
    for (size_t i = 0; i < p->count && t->dx; i++) {
        const size_t c = channel_of(p, i), k = p->first + i;
        const double xhat = (x[k] - p->mean) * p->inv_std, count = (double)p->count;
        t->dx[k] = p->inv_std * (weight[c] * dy[k] - sum / count - xhat * sum_xhat / count);
    }
}

static void group_norm_backward(const reference_task *t) {
    for (int n = 0; n < t->samples; n++)
        for (int g = 0; g < t->l->groups; g++) {
            const part p = part_of(t->l, n, g, t->x);
            part_backward(t, &p);
        }
}

// The mean and the biased variance are those of a sample's channels of one group, over all
// positions.
const reference_layer reference_group_norm = {.forward = group_norm,
                                              .backward = group_norm_backward};
