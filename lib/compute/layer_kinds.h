// SPDX-License-Identifier: MIT
// layer_kinds.h - the layers as one table: the word of each, and what distinguishes it outside of
// its own functions.
//
// Code that treats several kinds alike asks for a trait and names no kind, so that it also holds
// for kinds that are added later. CONTRIBUTING.md, "Adding a layer", lists what else a kind needs.
#ifndef LOCKSTEP_COMPUTE_LAYER_KINDS_H
#define LOCKSTEP_COMPUTE_LAYER_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/host_device.h"

// ROW(to, KIND, word, options, the values of its layer_traits). Model files know a layer by its
// word, and so do its functions: reference_WORD (tests/ops/reference.h), and of an unfused layer
// WORD and WORD_backward among an executor's kernels. `options`: what model files say of it, and
// what reads that (nn/layer_types.c); `plain` are none. `to` is handed to each ROW.

// Functions of each element that can end an epilogue; many are smooth. Kernels compute a value and
// its derivative by WORD_at (cpu/kernels/activation.h, cuda/kernels/activation.cuh).
#define SMOOTH_LAYERS(ROW, to)                                                                   \
    ROW(to, GELU, gelu, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                     \
        .activation = ACTIVATION_GELU, .torch = "nn.GELU")                                       \
    ROW(to, SILU, silu, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                     \
        .activation = ACTIVATION_SILU, .torch = "nn.SiLU")                                       \
    ROW(to, MISH, mish, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                     \
        .activation = ACTIVATION_MISH, .torch = "nn.Mish")                                       \
    ROW(to, LEAKY_RELU, leaky_relu, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,         \
        .activation = ACTIVATION_LEAKY_RELU,                                                     \
        .numbers = {{.key = "negative_slope",                                                    \
                     AT(factor),                                                                 \
                     .otherwise = 0.01,                                                          \
                     .low = -1000,                                                               \
                     .high = 1000}},                                                             \
        .torch = "nn.LeakyReLU", .onnx = "LeakyRelu")                                            \
    ROW(to, ELU, elu, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                       \
        .activation = ACTIVATION_ELU,                                                            \
        .numbers = {{.key = "alpha", AT(factor), .otherwise = 1, .high = 1000}},                 \
        .torch = "nn.ELU", .onnx = "Elu")                                                        \
    ROW(to, CELU, celu, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                     \
        .activation = ACTIVATION_CELU,                                                           \
        .numbers = {{.key = "alpha", AT(factor), .otherwise = 1, .high = 1000, .above = true}},  \
        .torch = "nn.CELU", .onnx = "Celu")                                                      \
    ROW(to, SOFTPLUS, softplus, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,             \
        .activation = ACTIVATION_SOFTPLUS,                                                       \
        .numbers = {{.key = "beta", AT(factor), .otherwise = 1, .high = 1000, .above = true},    \
                    {.key = "threshold", AT(threshold), .otherwise = 20, .high = 1000}},         \
        .torch = "nn.Softplus")                                                                  \
    ROW(to, SIGMOID, sigmoid, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,               \
        .activation = ACTIVATION_SIGMOID, .torch = "nn.Sigmoid", .onnx = "Sigmoid")              \
    ROW(to, TANH, tanh, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                     \
        .activation = ACTIVATION_TANH, .torch = "nn.Tanh", .onnx = "Tanh")                       \
    ROW(to, RELU6, relu6, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,                   \
        .activation = ACTIVATION_RELU6, .prefix = "relu", .torch = "nn.ReLU6")                   \
    ROW(to, HARD_SIGMOID, hard_sigmoid, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,     \
        .activation = ACTIVATION_HARD_SIGMOID, .torch = "nn.Hardsigmoid", .onnx = "HardSigmoid") \
    ROW(to, HARD_SWISH, hard_swish, plain, .role = ROLE_SMOOTH, .apart = APART_CHANNELS,         \
        .activation = ACTIVATION_HARD_SWISH, .torch = "nn.Hardswish")

// The probability with which a layer drops a value, or a part of a sample.
#define DROP_RATE \
    { .key = "p", AT(rate), .otherwise = 0.5, .high = 1, .below = true }

// Layers that can be a unit by themselves.
#define UNFUSED_LAYERS(ROW, to)                                                                    \
    SMOOTH_LAYERS(ROW, to)                                                                         \
    ROW(to, SCALE, scale, scale, .role = ROLE_SCALE, .activation = ACTIVATION_SCALE,               \
        .apart = APART_CHANNELS, .torch = "Scale")                                                 \
    ROW(to, MAX_POOL, max_pool, max_pool, .role = ROLE_POOL, .has_choices = true,                  \
        .prefix = "pool", .apart = APART_CHANNELS, .torch = "nn.MaxPool2d", .onnx = "MaxPool")     \
    ROW(to, AVG_POOL, avg_pool, avg_pool, .role = ROLE_UNFUSED, .prefix = "pool",                  \
        .apart = APART_CHANNELS, .torch = "nn.AvgPool2d", .onnx = "AveragePool")                   \
    ROW(to, ADAPTIVE_AVG_POOL, adaptive_avg_pool, adaptive_pool, .role = ROLE_UNFUSED,             \
        .prefix = "pool", .apart = APART_CHANNELS, .torch = "nn.AdaptiveAvgPool2d",                \
        .onnx = "AveragePool")                                                                     \
    ROW(to, ZERO_PAD, zero_pad, zero_pad, .role = ROLE_UNFUSED, .prefix = "pad",                   \
        .torch = "nn.ZeroPad2d")                                                                   \
    ROW(to, UPSAMPLE, upsample, upsample, .role = ROLE_UNFUSED, .apart = APART_CHANNELS,           \
        .torch = "nn.Upsample")                                                                    \
    ROW(to, MULTIPLY, multiply, second, .role = ROLE_UNFUSED, .has_second = true,                  \
        .takes_gate = true, .apart = APART_CHANNELS, .torch = "Multiply",                          \
        .formula = "a * b.reshape(b.shape + (1, 1)[:a.dim() - b.dim()])", .onnx = "Mul")           \
    ROW(to, DROPOUT, dropout, plain, .role = ROLE_UNFUSED, .drops = DROPS_VALUES,                  \
        .has_choices = true, .numbers = {DROP_RATE}, .apart = APART_CHANNELS,                      \
        .torch = "nn.Dropout")                                                                     \
    ROW(to, DROPOUT2D, dropout2d, image, .role = ROLE_UNFUSED, .drops = DROPS_CHANNELS,            \
        .prefix = "dropout", .numbers = {DROP_RATE}, .apart = APART_CHANNELS,                      \
        .torch = "nn.Dropout2d")                                                                   \
    ROW(to, STOCHASTIC_DEPTH, stochastic_depth, stochastic_depth, .role = ROLE_UNFUSED,            \
        .drops = DROPS_ALL, .numbers = {DROP_RATE}, .apart = APART_CHANNELS,                       \
        .torch = "StochasticDepth")                                                                \
    ROW(to, GROUP_NORM, group_norm, group_norm, .role = ROLE_UNFUSED, .tensors = TENSORS_CHANNELS, \
        .apart = APART_GROUPS, .prefix = "gn", .torch = "nn.GroupNorm")                            \
    ROW(to, LAYER_NORM, layer_norm, batch_norm, .role = ROLE_UNFUSED, .tensors = TENSORS_CHANNELS, \
        .kept = 4, .prefix = "ln", .torch = "LayerNorm")                                           \
    ROW(to, LOCAL_RESPONSE_NORM, local_response_norm, local_response_norm, .role = ROLE_UNFUSED,   \
        .prefix = "lrn",                                                                           \
        .numbers = {{.key = "alpha", AT(alpha), .otherwise = 1e-4, .high = 1000},                  \
                    {.key = "k", AT(k), .otherwise = 1, .low = 1e-5, .high = 1000}},               \
        .torch = "nn.LocalResponseNorm")                                                           \
    ROW(to, SHUFFLE, shuffle, shuffle, .role = ROLE_UNFUSED, .torch = "Shuffle")

#define LAYERS(ROW, to)                                                                         \
    ROW(to, CONV, conv, conv, .role = ROLE_ANCHOR, .tensors = TENSORS_PRODUCT,                  \
        .torch = "nn.Conv2d", .onnx = "Conv")                                                   \
    ROW(to, LINEAR, linear, linear, .role = ROLE_ANCHOR, .tensors = TENSORS_PRODUCT,            \
        .prefix = "fc", .torch = "nn.Linear", .onnx = "Gemm")                                   \
    ROW(to, BATCH_NORM, batch_norm, batch_norm, .role = ROLE_NORM, .tensors = TENSORS_CHANNELS, \
        .has_statistics = true, .prefix = "bn",                                                 \
        .numbers = {{.key = "momentum", AT(momentum), .otherwise = 0.1, .high = 1}},            \
        .torch = "nn.BatchNorm", .onnx = "BatchNormalization")                                  \
    ROW(to, RELU, relu, plain, .role = ROLE_RELU, .activation = ACTIVATION_RELU,                \
        .torch = "nn.ReLU", .onnx = "Relu")                                                     \
    ROW(to, FLATTEN, flatten, flatten, .role = ROLE_VIEW, .torch = "nn.Flatten",                \
        .onnx = "Flatten")                                                                      \
    ROW(to, UNFLATTEN, unflatten, unflatten, .role = ROLE_VIEW, .torch = "nn.Unflatten")        \
    ROW(to, LOG_SOFTMAX, log_softmax, log_softmax, .role = ROLE_VIEW, .torch = "nn.LogSoftmax", \
        .onnx = "LogSoftmax")                                                                   \
    ROW(to, ADD, add, second, .role = ROLE_SUM, .has_second = true, .torch = "Add",             \
        .formula = "a + b", .onnx = "Add")                                                      \
    ROW(to, CONCAT, concat, concat, .role = ROLE_CONCAT, .torch = "Concat", .onnx = "Concat")   \
    ROW(to, SLICE, slice, slice, .role = ROLE_SLICE, .torch = "Slice")                          \
    UNFUSED_LAYERS(ROW, to)

#define LAYER_KIND(to, KIND, ...) LAYER_##KIND,
typedef enum layer_kind { LAYERS(LAYER_KIND, ) LAYER_KINDS } layer_kind;
#undef LAYER_KIND

// The functions of single elements that kernels know, on every device.
#define ACTIVATION_KIND(to, KIND, ...) ACTIVATION_##KIND,
typedef enum activation_kind {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    SMOOTH_LAYERS(ACTIVATION_KIND, ) // GELU by the error function
    ACTIVATION_SCALE                 // the product with a constant
} activation_kind;
#undef ACTIVATION_KIND

// Returns true for those of SMOOTH_LAYERS.
HOST_DEVICE static inline bool is_smooth(activation_kind kind) {
#define OR_KIND(to, KIND, ...) || kind == ACTIVATION_##KIND
    return false SMOOTH_LAYERS(OR_KIND, );
#undef OR_KIND
}

// The numbers of a function of single elements, of which its formula takes none, one or both.
typedef struct activation_numbers {
    float factor, threshold;
} activation_numbers;

// Where a layer is in a unit (compute/plan/units.h). A layer that cannot be in the unit before it
// begins one.
typedef enum layer_role {
    ROLE_NONE, // no engine can run it
    ROLE_ANCHOR,
    ROLE_NORM,   // epilogue: batch norm
    ROLE_RELU,   // epilogue: before or after pooling
    ROLE_SMOOTH, // the end of an epilogue, else unfused: one of SMOOTH_LAYERS. No pooling is before
                 // it
    ROLE_POOL,   // epilogue if its windows are 2×2 side by side, else unfused: max pooling
    ROLE_SCALE,  // with the anchor of the logits, else unfused
    ROLE_SUM,    // of two inputs
    ROLE_VIEW, // the same values: as another shape; or the logits, whose log-softmax the loss takes
    ROLE_CONCAT, // the channels of its inputs, one input after another
    ROLE_SLICE,  // a range of the channels
    ROLE_UNFUSED,
} layer_role;

// What of a sample a layer sets to zero at random, as a whole. In inference it does nothing.
typedef enum layer_drops { DROPS_NOTHING, DROPS_VALUES, DROPS_CHANNELS, DROPS_ALL } layer_drops;

typedef enum layer_tensors {
    TENSORS_NONE,
    TENSORS_PRODUCT,  // a weight that is multiplied with the input, at random; perhaps a bias
    TENSORS_CHANNELS, // weight and bias of each channel, initially 1 and 0
} layer_tensors;

// What of an unfused layer's channels, in both directions, depends on the same ones of its input
// alone, and can be computed apart from the others.
typedef enum layer_apart { APART_NOT, APART_CHANNELS, APART_GROUPS } layer_apart;

// An option of a layer that is a plain number. PyTorch's modules have it under the same name.
enum { LAYER_NUMBERS = 4 };
typedef struct layer_number {
    const char *key;
    size_t at;         // offset of the double in a `layer` (compute/program.h)
    double otherwise;  // the default
    double low, high;  // the range, in single precision too
    bool above, below; // without its lowest, its highest value
} layer_number;

typedef struct layer_traits {
    const char *word;
    const char *prefix; // of default names; NULL: the word
    layer_role role;
    activation_kind activation; // the function of single elements that it is; NONE: another layer
    layer_drops drops;
    layer_tensors tensors;
    layer_apart apart;
    bool has_second;                     // a second input, of the shape of the first
    bool takes_gate;                     // or of its channels, with one position
    bool has_statistics;                 // running mean and variance of each channel
    layer_number numbers[LAYER_NUMBERS]; // read after `options`
    int kept;         // backward keeps so many numbers of each position while it works on the layer
    bool has_choices; // forward leaves a byte for each output, by which backward goes: the place in
                      // its window that it came from, or whether it was kept
    // In exports (train/export):
    const char *torch;   // the module of PyTorch, or of the exported file
    const char *formula; // of a module of that file: its output from the inputs a and b
    const char *onnx;    // the operator, if one is enough; NULL: several, or none
} layer_traits;

extern const layer_traits layer_kind_traits[LAYER_KINDS];

static inline const char *layer_kind_prefix(layer_kind kind) {
    const layer_traits *t = &layer_kind_traits[kind];
    return t->prefix ? t->prefix : t->word;
}

#endif
