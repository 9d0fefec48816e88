// SPDX-License-Identifier: MIT
// Batch normalisation, and the running statistics that inference uses.
#include <math.h>

#include "../reference.h"

static size_t positions(shape s) {
    return (size_t)s.height * (size_t)s.width;
}

// Element `i` of channel c of sample n.
static size_t at(shape s, int n, int c, size_t i) {
    return ((size_t)n * (size_t)s.channels + (size_t)c) * positions(s) + i;
}

void reference_moments(shape s, int samples, const double *x, double *mean, double *variance) {
    const double count = (double)samples * (double)positions(s);
    for (int c = 0; c < s.channels; c++) {
        double sum = 0, squares = 0;
        for (int n = 0; n < samples; n++)
            for (size_t i = 0; i < positions(s); i++) sum += x[at(s, n, c, i)];
        mean[c] = samples ? sum / count : 0;
        for (int n = 0; n < samples; n++) {
            for (size_t i = 0; i < positions(s); i++) {
                double d = x[at(s, n, c, i)] - mean[c];
                squares += d * d;
            }
        }
        variance[c] = samples ? squares / count : 0;
    }
}

static void batch_norm(const reference_task *t) {
    const layer *l = t->l;
    const double *mean = t->mean, *variance = t->variance;
    if (t->kept) {
        reference_moments(l->in, t->samples, t->x, t->kept, t->kept + l->in.channels);
        mean = t->kept;
        variance = t->kept + l->in.channels;
    }
    for (int n = 0; n < t->samples; n++) {
        for (int c = 0; c < l->in.channels; c++) {
            double inv_std = 1 / sqrt(variance[c] + l->eps);
            for (size_t i = 0; i < positions(l->in); i++) {
                size_t k = at(l->in, n, c, i);
                t->y[k] = t->weight[c] * (t->x[k] - mean[c]) * inv_std + t->bias[c];
            }
        }
    }
}

// With x̂ = (x - mean) / std: dx = weight / std · (dy - mean(dy) - x̂ · mean(dy · x̂)).
static void channel_backward(const reference_task *t, int c, double mean, double inv_std) {
    const shape s = t->l->in;
    const double *x = t->x, *dy = t->dy, count = (double)t->samples * (double)positions(s);
    double sum = 0, sum_xhat = 0;
    for (int n = 0; n < t->samples; n++) {
        for (size_t i = 0; i < positions(s); i++) {
            size_t k = at(s, n, c, i);
            sum += dy[k];
            sum_xhat += dy[k] * (x[k] - mean) * inv_std;
        }
    }
    for (int n = 0; n < t->samples && t->dx; n++) {
        for (size_t i = 0; i < positions(s); i++) {
            size_t k = at(s, n, c, i);
            double xhat = (x[k] - mean) * inv_std;
            t->dx[k] = t->weight[c] * inv_std * (dy[k] - sum / count - xhat * sum_xhat / count);
        }
    }
    t->dweight[c] += sum_xhat;
    t->dbias[c] += sum;
}

static void batch_norm_backward(const reference_task *t) {
    const double *mean = t->kept, *variance = t->kept + t->l->in.channels;
    for (int c = 0; c < t->l->in.channels; c++)
        channel_backward(t, c, mean[c], 1 / sqrt(variance[c] + t->l->eps));
}

// In training the mean and the biased variance are those of reference_moments, which are kept;
// backward takes them as functions of x.
const reference_layer reference_batch_norm = {
    .forward = batch_norm, .backward = batch_norm_backward, .kept_of_channel = 2};

// The total weights of a step: all counts for the mean, counts of at least 2 for the variance.
static void weights(const layer *l, const reference_batch *b, double *all, double *of_variance) {
    *all = *of_variance = 0;
    for (int v = 0; v < b->shards; v++) {
        double count = (double)b->count[v] * (double)positions(l->in);
        *all += count;
        if (count >= 2) *of_variance += count;
    }
    if (b->sync_batch_norm) *of_variance = *all >= 2 ? *all : 0;
}

void reference_update_buffers(const program *p, const reference_batch *b, const double *gradients,
                              double *buffers) {
    const double *statistics = gradients + p->parameters;
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        if (layer_statistics(l) == 0) continue;
        double all, of_variance;
        weights(l, b, &all, &of_variance);
        for (int c = 0; c < l->in.channels; c++) {
            double *mean = &buffers[l->mean + (size_t)c];
            double *variance = &buffers[l->variance + (size_t)c];
            if (all > 0) *mean += l->momentum * (statistics[l->mean + (size_t)c] / all - *mean);
            if (of_variance > 0) {
                double new = statistics[l->variance + (size_t)c] / of_variance;
                *variance += l->momentum * (new - *variance);
            }
        }
    }
}
