// SPDX-License-Identifier: MIT
// Layers that compute value by value, and softmax cross-entropy.
#include <math.h>
#include <string.h>

#include "../reference.h"
#include "base/random.h"

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

static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double limited(double x, double low, double high) {
    return x <= low ? low : x >= high ? high : x;
}

// A function of single values: itself, and its derivative, at x. Few need all of the numbers.
#define FUNCTION(word, value, derivative)                                \
    static void word##_forward(const reference_task *t) {                \
        const double factor = t->l->factor, threshold = t->l->threshold; \
        for (size_t i = 0; i < count(t); i++) {                          \
            const double x = t->x[i];                                    \
            (void)x, (void)factor, (void)threshold;                      \
            t->y[i] = (value);                                           \
        }                                                                \
    }                                                                    \
    static void word##_backward(const reference_task *t) {               \
        const double factor = t->l->factor, threshold = t->l->threshold; \
        for (size_t i = 0; i < count(t); i++) {                          \
            const double x = t->x[i];                                    \
            (void)x, (void)factor, (void)threshold;                      \
            t->dx[i] = t->dy[i] * (derivative);                          \
        }                                                                \
    }                                                                    \
    const reference_layer reference_##word = {.forward = word##_forward, \
                                              .backward = word##_backward};

static const double ROOT = 2.5066282746310005; // √(2π)
FUNCTION(gelu, cumulative(x) * x, cumulative(x) + x / ROOT * exp(-x * x / 2))
FUNCTION(silu, sigmoid(x) * x, sigmoid(x) * (1 + x * sigmoid(-x)))
FUNCTION(mish, tanh(softplus(x)) * x,
         tanh(softplus(x)) + x * sigmoid(x) * (1 - pow(tanh(softplus(x)), 2)))
FUNCTION(leaky_relu, x > 0 ? x : factor * x, x > 0 ? 1 : factor)
FUNCTION(elu, x > 0 ? x : factor * expm1(x), x > 0 ? 1 : factor * exp(x))
FUNCTION(celu, x > 0 ? x : factor * expm1(x / factor), x > 0 ? 1 : exp(x / factor))
FUNCTION(softplus, (factor * x > threshold ? x : softplus(factor * x) / factor),
         (factor * x > threshold ? 1 : sigmoid(factor * x)))
FUNCTION(sigmoid, sigmoid(x), sigmoid(x) * sigmoid(-x))
FUNCTION(tanh, tanh(x), 1 - tanh(x) * tanh(x))
FUNCTION(relu6, limited(x, 0, 6), x <= 0 || x >= 6 ? 0 : 1)
FUNCTION(hard_sigmoid, limited(x + 3, 0, 6) / 6, x <= -3 || x >= 3 ? 0 : 1 / 6.0)
FUNCTION(hard_swish, x <= -3 ? 0 : x * limited(x + 3, 0, 6) / 6,
         (x <= -3  ? 0
          : x >= 3 ? 1
                   : x / 3 + 0.5))
FUNCTION(scale, (factor * x), factor)

// ---- Sums, products, copies ----

static void add(const reference_task *t) {
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] + t->second[i];
}

static void add_backward(const reference_task *t) {
    memcpy(t->dx, t->dy, count(t) * sizeof *t->dx);
    memcpy(t->dsecond, t->dy, count(t) * sizeof *t->dsecond);
}

static void multiply(const reference_task *t) {
    const size_t positions = t->l->gated ? (size_t)(t->l->in.height * t->l->in.width) : 1;
    for (size_t i = 0; i < count(t); i++) t->y[i] = t->x[i] * t->second[i / positions];
}

static void multiply_backward(const reference_task *t) {
    const size_t positions = t->l->gated ? (size_t)(t->l->in.height * t->l->in.width) : 1;
    memset(t->dsecond, 0, count(t) / positions * sizeof *t->dsecond);
    for (size_t i = 0; i < count(t); i++) {
        t->dx[i] = t->dy[i] * t->second[i / positions];
        t->dsecond[i / positions] += t->dy[i] * t->x[i];
    }
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
const reference_layer reference_add = {.forward = add, .backward = add_backward};
const reference_layer reference_multiply = {.forward = multiply, .backward = multiply_backward};
const reference_layer reference_flatten = {.forward = copy, .backward = copy_backward};
// The loss takes it: so do the kernels, and the log-softmax of a log-softmax is the same.
const reference_layer reference_unflatten = {.forward = copy, .backward = copy_backward};

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
