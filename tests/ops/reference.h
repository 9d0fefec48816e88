// SPDX-License-Identifier: MIT
// reference.h - a slow, obvious version of every operation, which the backends are tested against.
//
// Everything is double, in plain loops, with samples outermost: an activation is
// [samples][channels][height][width]. Geometry comes from the layer of a program. tests/ops checks
// these functions against finite differences and golden files from PyTorch, and the backends
// against these functions.
//
// Backward functions write the gradient of their input (`dx` may be NULL if it is not needed) and
// *add* the gradients of parameters to the existing values.
#ifndef LOCKSTEP_TESTS_REFERENCE_H
#define LOCKSTEP_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/backend.h"
#include "compute/program.h"

// ---- Layers ----

// One layer on some samples, in training or in inference.
typedef struct reference_task {
    const layer *l;
    int samples;
    const double *x, *second; // second: the other input, if it has one
    // Concat, which takes one input at a time: the channels of x, and which of the output the first
    // of them is. Slice: the other way round.
    int channels, channel;
    const double *weight, *bias; // bias: may be NULL, like dbias, if the layer has none
    double *y;
    double *kept; // training: what forward leaves for backward; NULL: inference
    // Batch norm in inference: the running statistics.
    const double *mean, *variance;
    // Dropout in training: the samples' ids, and with them its random numbers.
    const uint32_t *ids;
    const uint32_t *leaders; // likewise, of the first sample of each one's shard
    uint32_t epoch;
    uint64_t seed;
    const double *dy;
    double *dx, *dsecond, *dweight, *dbias;
} reference_task;

typedef struct reference_layer {
    void (*forward)(const reference_task *t);
    void (*backward)(const reference_task *t);
    size_t kept_of_channel, kept_of_input; // values in `kept`
} reference_layer;

// reference_WORD of each row of layer_kinds.h.
#define REFERENCE(to, KIND, word, ...) extern const reference_layer reference_##word;
LAYERS(REFERENCE, )
#undef REFERENCE

extern const reference_layer *const reference_layers[LAYER_KINDS];

static inline void reference_forward(const reference_task *t) {
    reference_layers[t->l->kind]->forward(t);
}

static inline void reference_backward(const reference_task *t) {
    reference_layers[t->l->kind]->backward(t);
}

// Returns the number of values in `kept`.
size_t reference_kept(const layer *l, int samples);

// Computes mean and biased variance of every channel over samples and positions; zeros if there is
// no sample.
void reference_moments(shape s, int samples, const double *x, double *mean, double *variance);

// Writes the dropout factors for the features of one sample: 0 with probability l->rate, else 1 /
// (1 - rate). Part i (dropped_parts) is dropped if element i of the stream (layer_seed,
// RANDOM_DROPOUT, epoch, id) is below the rate, compared as floats.
void reference_dropout_mask(const layer *l, uint64_t seed, uint32_t epoch, uint32_t id,
                            double *mask);

// Softmax cross-entropy with label smoothing s, as in PyTorch: (1 - s) · the cross-entropy of the
// target, plus s · the mean of the cross-entropies of all classes. Returns the sum of the losses
// and writes the gradient of this sum to dlogits, unless that is NULL.
double reference_cross_entropy(int classes, int samples, const double *logits,
                               const sample_target *targets, double smoothing, double *dlogits);

// ---- Networks ----

// The samples of one step, shard after shard.
typedef struct reference_batch {
    int shards;
    const int *count;             // samples of every shard
    const double *inputs;         // [samples][C][H][W], normalised
    const sample_target *targets; // [samples]
    const uint32_t *ids;          // [samples]; for dropout; NULL if the program has none
    uint32_t epoch;
    uint64_t seed;
    bool sync_batch_norm; // batch norm over all samples instead of one shard
    double label_smoothing;
} reference_batch;

// Runs forward, loss and backward of a training step. `gradients` (gradient_floats(p) values) is a
// backend's reduced gradient buffer in exact arithmetic: gradient sums; then, for every batch norm
// channel, the sum over shards of count · mean and (if the count is 2 or more) count · unbiased
// variance, where the count is samples · positions; then the tail with the sum of the losses.
// `logits` [samples][classes] may be NULL.
status reference_step(const program *p, const double *parameters, const reference_batch *b,
                      double *gradients, double *logits, error *err) MUST_CHECK;

// Computes the logits in inference mode.
status reference_infer(const program *p, const double *parameters, const double *buffers,
                       int samples, const double *inputs, double *logits, error *err) MUST_CHECK;

// ---- Updates ----

// Applies one step of an optimizer to n parameters, by PyTorch's formulas. The gradient is
// scale · gradient[i]. `state` is optimizer_states(rule->kind) arrays of n, initially zero.
// `groups` is that of engine_options; it may be NULL.
void reference_update(const update_rule *rule, const uint8_t *groups, double scale, size_t n,
                      const double *gradient, double *parameters, double *state);

// Moves the running statistics in `buffers` towards those in the gradient buffer of a step. If no
// count reaches 2, the running variance is unchanged.
void reference_update_buffers(const program *p, const reference_batch *b, const double *gradients,
                              double *buffers);

#endif
