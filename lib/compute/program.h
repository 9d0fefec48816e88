// SPDX-License-Identifier: MIT
// program.h - a network in the form that a backend executes: the layers in order, with every shape
// and offset resolved.
//
// A program contains no YAML, file names or strategies. All parameters of a network live in one
// float array, the *parameter arena* (gradients and optimizer state have arrays of the same
// layout); the running statistics of batch norm live in a second one, the *buffer arena*. Every
// tensor starts at a multiple of ARENA_ALIGNMENT floats; the gaps are zero and stay zero.
#ifndef LOCKSTEP_COMPUTE_PROGRAM_H
#define LOCKSTEP_COMPUTE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ARENA_ALIGNMENT = 16,
    POOL_WINDOW_MAX = 255, // values: a byte holds the index of the largest
};

typedef enum layer_kind {
    LAYER_CONV,
    LAYER_LINEAR,
    LAYER_BATCH_NORM,
    LAYER_RELU,
    LAYER_MAX_POOL,
    LAYER_AVG_POOL,
    LAYER_FLATTEN,
    LAYER_DROPOUT,
    LAYER_KINDS
} layer_kind;

// One sample's activation: [channels][height][width]. After flatten: [features][1][1].
typedef struct shape {
    int channels, height, width;
} shape;

typedef struct layer {
    layer_kind kind;
    char name[32]; // "conv1": the prefix of its tensors in a state_dict
    int number;    // index in the program: the key of its random numbers
    shape in, out;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w; // conv, pools
    bool has_bias;                                            // conv, linear
    double eps, momentum;                                     // batch norm
    double rate;                                              // dropout: probability of zero
    size_t weight,
        bias; // parameter arena: conv [out][in][kh][kw], linear [out][in], batch norm [channels]
    size_t mean, variance; // buffer arena: batch norm
} layer;

typedef struct program {
    layer *layers;
    int count;
    shape input;
    int classes;       // features of the last layer
    size_t parameters; // floats in the parameter arena
    size_t buffers;    // floats in the buffer arena
} program;

static inline size_t shape_size(shape s) {
    return (size_t)s.channels * (size_t)s.height * (size_t)s.width;
}

// Returns the number of floats in the layer's weight tensor; 0 if it has none.
static inline size_t layer_weights(const layer *l) {
    switch (l->kind) {
    case LAYER_CONV:
        return (size_t)l->out.channels * (size_t)l->in.channels *
               (size_t)(l->kernel_h * l->kernel_w);
    case LAYER_LINEAR: return shape_size(l->out) * shape_size(l->in);
    case LAYER_BATCH_NORM: return (size_t)l->out.channels;
    default: return 0;
    }
}

#endif
