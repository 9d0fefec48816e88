// SPDX-License-Identifier: MIT
// program.h - a network in the form that a backend executes: the layers in order, with every shape
// and offset resolved.
//
// The network is a graph: a layer's input is the output of an earlier layer, usually that of the
// layer before it. Layers refer to their producers by distance, so a part of a program is a
// program.
//
// A program contains no YAML, file names or strategies. All parameters of a network live in one
// float array, the *parameter arena* (gradients and optimizer state have arrays of the same
// layout); the running statistics of batch norm live in a second one, the *buffer arena*. Every
// tensor starts at a multiple of ARENA_ALIGNMENT floats; the gaps are zero and stay zero.
#ifndef LOCKSTEP_COMPUTE_PROGRAM_H
#define LOCKSTEP_COMPUTE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/layer_kinds.h"

enum {
    ARENA_ALIGNMENT = 16,
    GROUP = 16,         // samples in a group: a leaf of the reduction tree, the lanes of a vector
    GRADIENT_TAIL = 16, // floats after the arenas in a gradient buffer (compute/backend.h)
    ENGINE_MAX_CHANNELS = 16,   // of an image
    POOL_WINDOW_MAX = 255,      // values: a byte holds the index of the largest
    LOCAL_RESPONSE_WINDOW = 64, // channels, at most
};

// One sample's activation: [channels][height][width]. After flatten: [features][1][1].
typedef struct shape {
    int channels, height, width;
} shape;

// As long as the names that checkpoints of other programs have.
enum { LAYER_NAME_BYTES = 128 };

typedef struct layer {
    layer_kind kind;
    char name[LAYER_NAME_BYTES]; // "conv1": the prefix of its tensors in a state_dict
    uint64_t key;                // of its random numbers: see layer_seed
    int number;                  // index in the program
    int skip;      // layers between this one and the producer of its input: see layer_source
    int with_skip; // has_second: likewise, of its second input: see layer_second_source
    int others;    // concat: inputs after the first
    const int *other_skips; // [others]: likewise; the model's
    bool gated;             // the second input has one position, whose values count at all of them
    bool flat;              // the output is a vector of features, not an image
    shape in, out;
    // Conv, pools; adaptive: 0. Zero padding: pads are those in front. Upsampling: strides are the
    // copies.
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int pad_c;   // zero padding: channels in front
    int groups;  // conv: parts of the channels that are convolved apart, 0 is 1; group norm:
                 // likewise, that are normalised apart; shuffle: that are mixed
    int channel; // slice: its first one, of the input's
    bool leaves_out_pad;   // avg pool: padding does not count in a mean
    bool has_bias;         // conv, linear: their option, see layer_biases
    double eps, momentum;  // batch norm; eps: other norms, too
    double rate;           // dropout: probability of zero
    bool by_shard;         // stochastic depth: one draw for all samples of a shard
    double factor;         // scale; of other functions of single elements, their first number
    double threshold;      // of these: their second number
    int window;            // local response norm: channels
    double alpha, beta, k; // likewise; beta is 0.25, 0.5, 0.75 or 1
    size_t weight,
        bias; // parameter arena: conv [out][in / groups][kh][kw], linear [out][in], norms
              // [channels]
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

static inline const layer_traits *layer_traits_of(const layer *l) {
    return &layer_kind_traits[l->kind];
}

// Returns the layer's value of one of its numbers.
static inline double layer_number_of(const layer *l, const layer_number *n) {
    return *(const double *)(const void *)((const char *)l + n->at);
}

// Returns those of a function of single elements.
static inline activation_numbers layer_activation_numbers(const layer *l) {
    const activation_numbers n = {(float)l->factor, (float)l->threshold};
    return n;
}

// Returns true if the layer has a second input.
static inline bool layer_has_second(const layer *l) {
    return layer_traits_of(l)->has_second;
}

// Returns the index of the layer whose output is the input of layer i; -1: the program's input.
static inline int layer_source(const program *p, int i) {
    return i - 1 - p->layers[i].skip;
}

// Likewise for its second input.
static inline int layer_second_source(const program *p, int i) {
    return i - 1 - p->layers[i].with_skip;
}

// Returns the index of the layer whose output the loss reads: a log-softmax after it is part of the
// loss.
static inline int program_logits(const program *p) {
    return p->count - 1 - (p->layers[p->count - 1].kind == LAYER_LOG_SOFTMAX);
}

// Return the number of the layer's inputs, and where input `number` of layer i comes from.
static inline int layer_inputs(const layer *l) {
    return 1 + layer_has_second(l) + l->others;
}
static inline int layer_input_source(const program *p, int i, int number) {
    const layer *l = &p->layers[i];
    if (number == 0) return layer_source(p, i);
    return layer_has_second(l) ? layer_second_source(p, i) : i - 1 - l->other_skips[number - 1];
}

// Returns the shape of the value with that index; -1: of the program's input.
static inline shape program_value(const program *p, int index) {
    return index < 0 ? p->input : p->layers[index].out;
}

// Returns true if a pipeline stage can begin with layer `at`: the anchor of a unit, and the output
// of the layer before it is the only earlier value that it or later layers read.
static inline bool program_can_cut(const program *p, int at) {
    if (layer_traits_of(&p->layers[at])->role != ROLE_ANCHOR) return false;
    for (int i = at; i < p->count; i++)
        for (int k = 0; k < layer_inputs(&p->layers[i]); k++)
            if (layer_input_source(p, i, k) < at - 1) return false;
    return true;
}

// Returns the seed of the layer's random numbers, its initial values and its dropped features, in a
// run with the given seed. The layer's key depends on its name alone (nn/model.h), so other layers
// have no effect on its numbers.
static inline uint64_t layer_seed(const layer *l, uint64_t seed) {
    return seed ^ l->key;
}

static inline shape layer_second_shape(const layer *l) {
    const shape one = {l->in.channels, 1, 1};
    return l->gated ? one : l->in;
}

static inline size_t shape_size(shape s) {
    return (size_t)s.channels * (size_t)s.height * (size_t)s.width;
}

static inline int layer_groups(const layer *l) {
    return l->groups > 1 ? l->groups : 1;
}

// Returns which channel of its input is channel c of a shuffle: its groups take turns.
HOST_DEVICE static inline int shuffled_channel(int channels, int groups, int c) {
    return c % groups * (channels / groups) + c / groups;
}

// Returns a convolution like each of those that make up `l`: of its first channels, without groups.
static inline layer layer_part(const layer *l) {
    layer part = *l;
    part.in.channels /= layer_groups(l);
    part.out.channels /= layer_groups(l);
    part.groups = 1;
    return part;
}

// Returns the parts of a sample that a layer keeps or drops whole, all of one size: part i goes by
// element i of its random numbers (base/random.h).
HOST_DEVICE static inline size_t dropped_parts(layer_drops drops, shape s) {
    return drops == DROPS_CHANNELS ? (size_t)s.channels
           : drops == DROPS_ALL    ? 1
                                   : (size_t)s.channels * (size_t)s.height * (size_t)s.width;
}

// Dropout keeps a value, and multiplies it by the factor, if the upper 24 of its 32 random bits are
// at least the threshold. This is the same as comparing the random number with the rate as floats.
static inline uint32_t layer_drop_threshold(const layer *l) {
    const double threshold = (double)(float)l->rate * 0x1p24;
    const uint32_t whole = (uint32_t)threshold;
    return whole + (whole < threshold);
}
static inline float layer_keep_factor(const layer *l) {
    return (float)(1 / (1 - l->rate));
}

// Returns four times the beta of a local response norm.
static inline int local_response_quarters(const layer *l) {
    return (int)(4 * l->beta);
}

// Return the number of floats in the layer's weight tensor, in its bias, and in each of its running
// statistics; 0 if it has none.
static inline size_t layer_weights(const layer *l) {
    switch (layer_traits_of(l)->tensors) {
    case TENSORS_PRODUCT:
        return (size_t)l->out.channels * (l->kernel_h ? (size_t)(l->in.channels / layer_groups(l)) *
                                                            (size_t)(l->kernel_h * l->kernel_w)
                                                      : shape_size(l->in));
    case TENSORS_CHANNELS: return (size_t)l->out.channels;
    case TENSORS_NONE: break;
    }
    return 0;
}

static inline size_t layer_biases(const layer *l) {
    const layer_tensors tensors = layer_traits_of(l)->tensors;
    const bool has = tensors == TENSORS_CHANNELS || (tensors == TENSORS_PRODUCT && l->has_bias);
    return has ? (size_t)l->out.channels : 0;
}

static inline size_t layer_statistics(const layer *l) {
    return layer_traits_of(l)->has_statistics ? (size_t)l->out.channels : 0;
}

// Returns how many numbers of each sample backward keeps while it works on the layer.
static inline size_t layer_kept(const layer *l) {
    return (size_t)layer_traits_of(l)->kept * (size_t)l->in.height * (size_t)l->in.width;
}

#endif
