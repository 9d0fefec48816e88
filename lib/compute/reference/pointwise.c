// SPDX-License-Identifier: MIT
// Activations, sums, dropout masks, softmax cross-entropy.
#include <math.h>

#include "base/random.h"
#include "compute/reference.h"

// NaNs propagate, forward and backward.
void reference_relu(size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] <= 0 ? 0 : x[i];
}

void reference_relu_backward(size_t n, const double *x, const double *dy, double *dx) {
    for (size_t i = 0; i < n; i++) dx[i] = x[i] <= 0 ? 0 : dy[i];
}

// Φ, the distribution function of the standard normal distribution.
static double cumulative(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

void reference_gelu(size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] * cumulative(x[i]);
}

void reference_gelu_backward(size_t n, const double *x, const double *dy, double *dx) {
    const double scale = 1 / sqrt(2 * 3.14159265358979323846);
    for (size_t i = 0; i < n; i++)
        dx[i] = dy[i] * (cumulative(x[i]) + x[i] * scale * exp(-x[i] * x[i] / 2));
}

void reference_silu(size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] * sigmoid(x[i]);
}

void reference_silu_backward(size_t n, const double *x, const double *dy, double *dx) {
    for (size_t i = 0; i < n; i++) dx[i] = dy[i] * sigmoid(x[i]) * (1 + x[i] * sigmoid(-x[i]));
}

void reference_scale(const layer *l, size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i++) y[i] = l->factor * x[i];
}

void reference_add(size_t n, const double *a, const double *b, double *y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void reference_dropout_mask(const layer *l, uint64_t seed, uint32_t epoch, uint32_t id,
                            double *mask) {
    const random_stream stream = {
        .seed = layer_seed(l, seed), .purpose = RANDOM_DROPOUT, .epoch = epoch, .sample = id};
    for (size_t i = 0; i < shape_size(l->in); i++)
        mask[i] = random_uniform(&stream, i) < (float)l->rate ? 0 : 1 / (1 - l->rate);
}

double reference_cross_entropy(int classes, int samples, const double *logits,
                               const sample_target *targets, double smoothing, double *dlogits) {
    double loss = 0;
    for (int n = 0; n < samples; n++, logits += classes) {
        double max = logits[0], sum = 0;
        for (int k = 1; k < classes; k++) max = fmax(max, logits[k]);
        for (int k = 0; k < classes; k++) sum += exp(logits[k] - max);
        for (int k = 0; k < classes; k++) {
            const sample_target *t = &targets[n];
            const double own = (1 - (double)t->share) * ((uint32_t)k == t->label) +
                               (double)t->share * ((uint32_t)k == t->other);
            const double wanted = (1 - smoothing) * own + smoothing / classes;
            loss += wanted * (log(sum) + max - logits[k]);
            if (dlogits) *dlogits++ = exp(logits[k] - max) / sum - wanted;
        }
    }
    return loss;
}
