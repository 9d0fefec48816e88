// SPDX-License-Identifier: MIT
// Layers that compute value by value, and softmax cross-entropy.
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "compute/reference.h"

static size_t count(const reference_task *t) {
    return (size_t)t->samples * shape_size(t->l->in);
}

// ---- Activations ----

// NaNs propagate, forward and backward.
static void relu(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] <= 0 ? 0 : t->x[i];
}

static void relu_backward(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->dx[i] = t->x[i] <= 0 ? 0 : t->dy[i];
}

// Φ, the distribution function of the standard normal distribution.
static double cumulative(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

// x·Φ(x), with the error function.
static void gelu(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] * cumulative(t->x[i]);
}

static void gelu_backward(const reference_task *t) {
    const double *x = t->x, scale = 1 / sqrt(2 * 3.14159265358979323846);
    for (size_t i = 0; i < count(t); i++)
        t->dx[i] = t->dy[i] * (cumulative(x[i]) + x[i] * scale * exp(-x[i] * x[i] / 2));
}

// x·σ(x).
static void silu(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] * sigmoid(t->x[i]);
}

static void silu_backward(const reference_task *t) {
    const double *x = t->x;
    for (size_t i = 0; i < count(t); i++)
        t->dx[i] = t->dy[i] * sigmoid(x[i]) * (1 + x[i] * sigmoid(-x[i]));
}

// ---- Sums, products, copies ----

// Multiplies by the layer's factor.
static void scale(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->l->factor * t->x[i];
}

static void scale_backward(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->dx[i] = t->l->factor * t->dy[i];
}

static void add(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] + t->second[i];
}

static void add_backward(const reference_task *t) {
    memcpy(t->dx, t->dy, count(t) * sizeof *t->dx);
    memcpy(t->dsecond, t->dy, count(t) * sizeof *t->dsecond);
}

static void copy(const reference_task *t) {
    memcpy(t->y, t->x, count(t) * sizeof *t->y);
}

static void copy_backward(const reference_task *t) {
    memcpy(t->dx, t->dy, count(t) * sizeof *t->dx);
}

// ---- Dropout ----

void reference_dropout_mask(const layer *l, uint64_t seed, uint32_t epoch, uint32_t id,
                            double *mask) {
    const random_stream stream = {
        .seed = layer_seed(l, seed), .purpose = RANDOM_DROPOUT, .epoch = epoch, .sample = id};
    const size_t parts = dropped_parts(layer_traits_of(l)->drops, l->in);
    for (size_t i = 0, size = shape_size(l->in); i < size; i++)
        mask[i] =
            random_uniform(&stream, i / (size / parts)) < (float)l->rate ? 0 : 1 / (1 - l->rate);
}

// Multiplies by the factors of reference_dropout_mask, which are kept; in inference by 1.
static void dropout(const reference_task *t) {
    for (int n = 0; t->kept && n < t->samples; n++)
        reference_dropout_mask(t->l, t->seed, t->epoch, t->l->by_shard ? t->leaders[n] : t->ids[n],
                               t->kept + (size_t)n * shape_size(t->l->in));
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->kept ? t->x[i] * t->kept[i] : t->x[i];
}

static void dropout_backward(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->dx[i] = t->dy[i] * t->kept[i];
}

const reference_layer reference_relu = {.forward = relu, .backward = relu_backward};
const reference_layer reference_gelu = {.forward = gelu, .backward = gelu_backward};
const reference_layer reference_silu = {.forward = silu, .backward = silu_backward};
const reference_layer reference_scale = {.forward = scale, .backward = scale_backward};
const reference_layer reference_add = {.forward = add, .backward = add_backward};
const reference_layer reference_flatten = {.forward = copy, .backward = copy_backward};
// The loss takes it: so do the kernels, and the log-softmax of a log-softmax is the same.
const reference_layer reference_log_softmax = {.forward = copy, .backward = copy_backward};
#define DROPOUT \
    { .forward = dropout, .backward = dropout_backward, .kept_of_input = 1 }
const reference_layer reference_dropout = DROPOUT, reference_dropout2d = DROPOUT,
                      reference_stochastic_depth = DROPOUT;

// ---- The loss ----

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
