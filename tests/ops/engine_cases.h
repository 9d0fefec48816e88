// SPDX-License-Identifier: MIT
// engine_cases.h - what tests of all layers need to know of each: an example, and values that its
// options refuse; the models of test_engine.c, and the ways to cut a step into shards. It tests
// every pair, except that large models get only a few of the splits.
#ifndef LOCKSTEP_TESTS_ENGINE_CASES_H
#define LOCKSTEP_TESTS_ENGINE_CASES_H

#include <stdbool.h>
#include <stdio.h>

#include "compute/layer_kinds.h"

#define FOR_SOME_TESTS __attribute__((unused)) static const

// The options of a layer of each kind that needs some; its input has 4 channels of 8×8.
FOR_SOME_TESTS char *const layer_examples[LAYER_KINDS] = {
    [LAYER_CONV] = "out: 4, kernel: 3",
    [LAYER_LINEAR] = "out: 4",
    [LAYER_MAX_POOL] = "size: 2",
    [LAYER_AVG_POOL] = "size: 2",
    [LAYER_ADAPTIVE_AVG_POOL] = "output_size: 3",
    [LAYER_ZERO_PAD] = "padding: 1",
    [LAYER_UPSAMPLE] = "scale_factor: 2",
    [LAYER_STOCHASTIC_DEPTH] = "p: 0.2",
    [LAYER_SCALE] = "factor: 0.5",
    [LAYER_GROUP_NORM] = "groups: 2",
    [LAYER_LOCAL_RESPONSE_NORM] = "size: 4, alpha: 0.5",
    [LAYER_CONCAT] = "with: input",
    [LAYER_SLICE] = "channels: [0, 2]",
    [LAYER_SHUFFLE] = "groups: 2",
    [LAYER_UNFLATTEN] = "size: [8, 8, 4]",
};

enum { EXAMPLE_BYTES = 300 };

// Writes a model file whose second layer is an example of this kind; a linear one is the third,
// a log-softmax the fourth.
static inline void write_example(layer_kind kind, char text[EXAMPLE_BYTES]) {
    const layer_traits *t = &layer_kind_traits[kind];
    snprintf(text, EXAMPLE_BYTES,
             "schema: lockstep.model/1\nname: m\ninput: [4, 8, 8]\n"
             "layers: [avg_pool: {size: 1}, %s%s: {%s}%s]\n",
             kind == LAYER_LINEAR || kind == LAYER_UNFLATTEN ? "flatten, "
             : kind == LAYER_LOG_SOFTMAX                     ? "flatten, linear: {out: 2}, "
                                                             : "",
             t->word,
             layer_examples[kind] ? layer_examples[kind]
             : t->has_second      ? "with: input"
                                  : "",
             kind == LAYER_LOG_SOFTMAX ? "" : ", flatten, linear: {out: 2}");
}

// Of every option that is not a number of layer_kinds.h or the name of a layer.
typedef struct refused_values {
    const char *key, *values[4];
} refused_values;
FOR_SOME_TESTS refused_values refused_options[] = {
    {"beta", {"0", "0.6", "1.25"}},
    {"bias", {"1"}},
    {"ceil_mode", {"1"}},
    {"count_include_pad", {"1"}},
    {"channels", {"[-1, 2]", "[2, 2]", "[0, 5]"}},
    {"eps", {"0", "-1e-5", "1e39"}},
    {"factor", {"0", "1e39", "-1e39"}},
    {"groups", {"0", "3", "16777217"}},
    {"kernel", {"0", "4097"}},
    {"mode", {"rows", "1"}},
    {"out", {"0", "-1", "16777217"}},
    {"output_size", {"0", "4097", "[1]"}},
    {"padding", {"-4097", "4097"}},
    {"scale_factor", {"0", "4097", "1.5"}},
    {"size", {"0", "4097"}},
    {"stride", {"0", "4097"}},
};

enum { MAX_SHARDS = 12 };

typedef struct model_case {
    const char *name, *input, *layers; // YAML
    const char *path;                  // or a model file
    bool large;                        // with few of the splits: the reference is slow
} model_case;

// Every kind of layer, geometries without a fast path, and the experiments' models.
FOR_SOME_TESTS model_case models[] = {
    {.name = "softmax regression", .input = "[1, 3, 5]", .layers = "[flatten, linear: {out: 10}]"},
    {.name = "mlp",
     .input = "[1, 6, 5]",
     .layers = "[flatten, linear: {out: 37}, relu, linear: {out: 16}, relu, linear: {out: 10}]"},
    {.name = "mlp, no bias, two classes",
     .input = "[2, 4, 4]",
     .layers = "[flatten, linear: {out: 19, bias: false}, relu, linear: {out: 2, bias: false}]"},
    {.name = "mlp, layers of many features",
     .input = "[3, 14, 13]",
     .layers = "[flatten, linear: {out: 21}, batch_norm, relu, linear: {out: 530, bias: false}, "
               "batch_norm, linear: {out: 18}, relu, linear: {out: 10}]"},
    {.name = "mlp-bn",
     .input = "[1, 7, 5]",
     .layers = "[flatten, linear: {out: 33}, batch_norm, relu, linear: {out: 9, bias: false}, "
               "batch_norm, relu, linear: {out: 10}]"},
    {.name = "conv 3x3",
     .input = "[3, 8, 7]",
     .layers = "[conv: {out: 5, kernel: 3}, relu, flatten, linear: {out: 10}]"},
    {.name = "conv 3x3, padding 1, twice",
     .input = "[2, 7, 6]",
     .layers = "[conv: {out: 6, kernel: 3, padding: 1}, relu, conv: {out: 7, kernel: 3, padding: "
               "1}, relu, flatten, linear: {out: 10}]"},
    {.name = "conv 5x5, padding 2, pool",
     .input = "[1, 12, 12]",
     .layers = "[conv: {out: 6, kernel: 5, padding: 2}, relu, max_pool: {size: 2}, conv: {out: 4, "
               "kernel: 5, padding: 2}, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]"},
    {.name = "conv 1x1",
     .input = "[3, 5, 4]",
     .layers = "[conv: {out: 9, kernel: 1}, relu, conv: {out: 17, kernel: 1, bias: false}, relu, "
               "conv: {out: 4, kernel: 1}, flatten, linear: {out: 10}]"},
    {.name = "conv, stride 2",
     .input = "[3, 11, 10]",
     .layers = "[conv: {out: 8, kernel: 3, stride: 2, padding: 1}, relu, conv: {out: 5, kernel: 3, "
               "stride: 2, padding: 1}, relu, conv: {out: 3, kernel: 1, stride: 2}, flatten, "
               "linear: {out: 10}]"},
    {.name = "conv, odd geometry",
     .input = "[2, 9, 13]",
     .layers = "[conv: {out: 5, kernel: [3, 5], stride: [2, 1], padding: [1, 2]}, relu, conv: "
               "{out: 3, kernel: [1, 4], stride: [1, 3]}, relu, conv: {out: 4, kernel: [4, 2], "
               "padding: [0, 1]}, relu, flatten, linear: {out: 7}]"},
    {.name = "conv, stride 3 and 2x3",
     .input = "[2, 13, 14]",
     .layers = "[conv: {out: 4, kernel: 4, stride: 1, padding: 3}, relu, conv: {out: 5, kernel: 5, "
               "stride: 3, padding: 2}, relu, conv: {out: 6, kernel: [2, 3], stride: [2, 3], "
               "padding: [1, 1]}, flatten, linear: {out: 10}]"},
    {.name = "conv, padding beyond the kernel",
     .input = "[2, 4, 5]",
     .layers = "[conv: {out: 3, kernel: 3, padding: 3}, relu, conv: {out: 4, kernel: 1, padding: "
               "1}, relu, conv: {out: 3, kernel: [2, 3], padding: [2, 4]}, relu, flatten, linear: "
               "{out: 10}]"},
    {.name = "conv as large as its input",
     .input = "[3, 5, 4]",
     .layers = "[conv: {out: 8, kernel: 3, padding: 1}, relu, conv: {out: 11, kernel: [5, 4]}, "
               "relu, flatten, linear: {out: 10}]"},
    {.name = "conv of one row",
     .input = "[1, 1, 19]",
     .layers = "[conv: {out: 4, kernel: [1, 5], padding: [0, 2]}, relu, max_pool: {size: [1, 2]}, "
               "conv: {out: 5, kernel: [1, 3]}, relu, flatten, linear: {out: 10}]"},
    {.name = "conv of many channels",
     .input = "[3, 6, 6]",
     .layers = "[conv: {out: 33, kernel: 3, padding: 1}, relu, conv: {out: 64, kernel: 3, padding: "
               "1}, relu, max_pool: {size: 2}, conv: {out: 18, kernel: 3}, relu, flatten, linear: "
               "{out: 10}]"},
    {.name = "conv-bn, no bias",
     .input = "[3, 9, 8]",
     .layers = "[conv: {out: 6, kernel: 3, stride: 2, padding: 1, bias: false}, batch_norm, relu, "
               "conv: {out: 7, kernel: 3, padding: 1, bias: false}, batch_norm, relu, max_pool: "
               "{size: 2}, flatten, linear: {out: 10}]"},
    {.name = "conv-bn, eps and momentum",
     .input = "[1, 6, 6]",
     .layers = "[conv: {out: 4, kernel: 3}, batch_norm: {eps: 0.01, momentum: 0.3}, relu, flatten, "
               "linear: {out: 12}, batch_norm: {eps: 0.1, momentum: 1}, relu, linear: {out: 10}]"},
    {.name = "vgg-bn, small",
     .input = "[3, 8, 8]",
     .layers = "[conv: {out: 8, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 8, kernel: "
               "3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, conv: {out: 16, kernel: 3, "
               "padding: 1}, batch_norm, relu, conv: {out: 16, kernel: 3, padding: 1}, batch_norm, "
               "relu, max_pool: {size: 2}, flatten, linear: {out: 24}, relu, linear: {out: 10}]"},
    {.name = "pool 2x2 of an odd size",
     .input = "[2, 9, 7]",
     .layers = "[conv: {out: 3, kernel: 3, padding: 1}, relu, max_pool: {size: 2}, conv: {out: 4, "
               "kernel: 2}, max_pool: {size: 2}, relu, flatten, linear: {out: 10}]"},
    {.name = "conv-bn, pool of an odd size",
     .input = "[2, 9, 7]",
     .layers = "[conv: {out: 5, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, "
               "conv: {out: 4, kernel: 2}, batch_norm, relu, conv: {out: 6, kernel: 1}, flatten, "
               "linear: {out: 10}]"},
    {.name = "max pools that overlap",
     .input = "[3, 11, 10]",
     .layers = "[conv: {out: 4, kernel: 3}, relu, max_pool: {size: 3, stride: 2, padding: 1}, "
               "conv: {out: 5, kernel: 2}, max_pool: {size: [3, 2], stride: [1, 2]}, flatten, "
               "linear: {out: 10}]"},
    {.name = "max pools alone",
     .input = "[3, 12, 11]",
     .layers = "[max_pool: {size: 2}, max_pool: {size: 3, stride: 1, padding: 1}, flatten, linear: "
               "{out: 10}]"},
    {.name = "average pools",
     .input = "[3, 11, 12]",
     .layers =
         "[avg_pool: {size: 2, stride: 1}, conv: {out: 4, kernel: 3}, relu, avg_pool: {size: "
         "3, stride: 2, padding: 1}, conv: {out: 5, kernel: 3, padding: 1}, batch_norm, relu, "
         "avg_pool: {size: [4, 3], stride: [2, 3]}, flatten, linear: {out: 10}]"},
    {.name = "pools of ceil_mode, one larger than its input",
     .input = "[2, 12, 9]",
     .layers =
         "[conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2, ceil_mode: true}, "
         "avg_pool: {size: 3, stride: 2, padding: 1, ceil_mode: true}, avg_pool: {size: 2, stride: "
         "1, padding: 1, count_include_pad: false}, max_pool: {size: 3, stride: 2, ceil_mode: "
         "true}, avg_pool: {size: [4, 3], stride: 3, ceil_mode: true}, flatten, linear: {out: "
         "10}]"},
    {.name = "adaptive pools to fewer and to more positions",
     .input = "[2, 11, 9]",
     .layers = "[adaptive_avg_pool: {output_size: [11, 4]}, conv: {out: 5, kernel: 3, padding: 1}, "
               "relu, adaptive_avg_pool: {output_size: [4, 7]}, conv: {out: 4, kernel: 3}, "
               "batch_norm, relu, adaptive_avg_pool: {output_size: 3}, flatten, linear: {out: "
               "10}]"},
    {.name = "zeros around the input and between convolutions, and a shortcut of option A",
     .input = "[2, 9, 8]",
     .layers = "[zero_pad: {padding: [0, 1, 2, 0]}, conv: {out: 5, kernel: 3, padding: 1}, "
               "batch_norm, relu, residual: {body: [conv: {out: 8, kernel: 3, stride: 2, padding: "
               "1}, batch_norm], shortcut: [avg_pool: {size: 1, stride: 2}, zero_pad: {padding: "
               "[0, 0, 0, 0, 1, 2]}]}, relu, zero_pad: {padding: 1}, zero_pad: {padding: 0}, conv: "
               "{out: 4, kernel: 3}, flatten, linear: {out: 10}]"},
    {.name = "a product whose values are dropped: gradients of -0",
     .input = "[2, 5, 4]",
     .layers = "[flatten, linear: {out: 9, name: a}, tanh, multiply: {with: a}, dropout: {p: 0.6}, "
               "linear: {out: 7, name: b}, tanh, multiply: {with: b}, dropout: {p: 0.6}, linear: "
               "{out: 10}]"},
    {.name = "rows, columns and channels taken away, also where others are padded",
     .input = "[3, 9, 8]",
     .layers = "[zero_pad: {padding: [-1, 0, 2, -1, 0, -1]}, conv: {out: 6, kernel: 3, padding: "
               "1}, batch_norm, relu, zero_pad: {padding: [2, -3, -4, 1, -1, 2]}, conv: {out: 5, "
               "kernel: 3}, relu, zero_pad: {padding: [7, -3, 0, 0]}, flatten, linear: {out: 10}]"},
    {.name = "upsampled images",
     .input = "[2, 5, 4]",
     .layers =
         "[upsample: {scale_factor: [1, 3]}, conv: {out: 4, kernel: 3, stride: 2}, relu, upsample: "
         "{scale_factor: 2}, residual: {body: [conv: {out: 4, kernel: 3, padding: 1}, batch_norm, "
         "relu, avg_pool: {size: [4, 2]}, upsample: {scale_factor: [4, 2]}]}, max_pool: {size: 2}, "
         "flatten, linear: {out: 10}]"},
    {.name = "an image of one value, upsampled to more than 64x64",
     .input = "[1, 3, 3]",
     .layers = "[conv: {out: 2, kernel: 3}, upsample: {scale_factor: [65, 64]}, relu, conv: {out: "
               "2, kernel: 5, stride: 5}, relu, flatten, linear: {out: 10}]",
     .large = true},
    {.name = "dropped channels and samples",
     .input = "[3, 7, 6]",
     .layers = "[dropout2d: {p: 0.2}, conv: {out: 6, kernel: 3, padding: 1}, batch_norm, relu, "
               "residual: {body: [conv: {out: 6, kernel: 3, padding: 1}, stochastic_depth: {p: "
               "0.4}]}, relu, residual: {body: [conv: {out: 6, kernel: 1}, batch_norm, "
               "stochastic_depth: {p: 0.3, mode: batch}]}, dropout2d: {p: 0.3}, flatten, linear: "
               "{out: 10}, stochastic_depth: {p: 0.1}, linear: {out: 10}]"},
    {.name = "average pool as large as its input",
     .input = "[2, 18, 17]",
     .layers = "[conv: {out: 3, kernel: 2}, relu, global_avg_pool, flatten, linear: {out: 10}]"},
    {.name = "sums over more than 64x64 positions",
     .input = "[1, 65, 67]",
     .layers = "[conv: {out: 2, kernel: 3, padding: 1}, relu, global_avg_pool, flatten, linear: "
               "{out: 10}]",
     .large = true},
    {.name = "batch norm of the input",
     .input = "[3, 5, 4]",
     .layers = "[batch_norm, conv: {out: 4, kernel: 3}, relu, flatten, batch_norm, linear: {out: "
               "10}]"},
    {.name = "batch norm after flatten",
     .input = "[2, 6, 6]",
     .layers = "[conv: {out: 3, kernel: 3, padding: 1}, relu, max_pool: {size: 2}, flatten, "
               "batch_norm, relu, linear: {out: 10}]"},
    {.name = "layers in other orders",
     .input = "[2, 10, 10]",
     .layers =
         "[relu, conv: {out: 4, kernel: 3}, max_pool: {size: 2}, batch_norm, relu, conv: "
         "{out: 5, kernel: 3, padding: 1}, relu, batch_norm, max_pool: {size: 2}, batch_norm, "
         "flatten, relu, linear: {out: 12}, relu, relu, batch_norm, linear: {out: 10}]"},
    {.name = "convolutions without ReLU",
     .input = "[2, 8, 8]",
     .layers = "[conv: {out: 3, kernel: 3}, conv: {out: 4, kernel: 3, padding: 2}, batch_norm, "
               "conv: {out: 2, kernel: 3}, flatten, linear: {out: 8}, linear: {out: 10}]"},
    {.name = "gelu and silu",
     .input = "[2, 7, 6]",
     .layers = "[gelu, conv: {out: 5, kernel: 3, padding: 1}, gelu, conv: {out: 6, kernel: 3}, "
               "batch_norm, silu, max_pool: {size: 2}, flatten, linear: {out: 19}, silu, linear: "
               "{out: 12}, gelu, linear: {out: 10}]"},
    {.name = "gelu and silu in epilogues",
     .input = "[2, 9, 8]",
     .layers = "[conv: {out: 5, kernel: 2}, gelu, conv: {out: 18, kernel: 3, padding: 1, bias: "
               "false}, max_pool: {size: 2}, batch_norm: {eps: 1e-12, momentum: 0.4}, gelu, conv: "
               "{out: 17, kernel: 3, padding: 1}, batch_norm, silu, max_pool: {size: 3}, flatten, "
               "batch_norm, gelu, linear: {out: 9}, gelu, linear: {out: 12}, batch_norm, silu, "
               "linear: {out: 10}]"},
    {.name = "activations with and without numbers",
     .input = "[2, 7, 6]",
     .layers = "[relu6, conv: {out: 5, kernel: 3, padding: 1}, leaky_relu: {negative_slope: 0.2}, "
               "conv: {out: 6, kernel: 3}, batch_norm, mish, max_pool: {size: 2}, elu: {alpha: "
               "0.7}, batch_norm, celu: {alpha: 1.5}, flatten, linear: {out: 19}, softplus: "
               "{beta: 2, threshold: 1}, linear: {out: 12}, sigmoid, batch_norm, tanh, linear: "
               "{out: 9}, hard_sigmoid, linear: {out: 11}, hard_swish, linear: {out: 10}]"},
    {.name = "activations with and without numbers, in epilogues",
     .input = "[2, 9, 7]",
     .layers = "[conv: {out: 5, kernel: 2}, batch_norm, relu6, conv: {out: 18, kernel: 3, padding: "
               "1}, batch_norm, hard_swish, conv: {out: 17, kernel: 3, padding: 1}, batch_norm, "
               "leaky_relu, conv: {out: 6, kernel: 1}, mish, conv: {out: 6, kernel: 1}, "
               "batch_norm, elu, tanh, flatten, linear: {out: 12}, batch_norm, celu: {alpha: 0.5}, "
               "linear: {out: 13}, batch_norm, softplus, linear: {out: 9}, batch_norm, sigmoid, "
               "hard_sigmoid, linear: {out: 10}]"},
    {.name = "batch norms in place, and not",
     .input = "[2, 8, 7]",
     .layers = "[conv: {name: a, out: 4, kernel: 3, padding: 1}, max_pool: {size: 2}, batch_norm, "
               "batch_norm, relu, avg_pool: {size: 2, stride: 1}, batch_norm: {name: b}, silu, "
               "conv: {from: b, out: 4, kernel: 1}, batch_norm, gelu, add: {with: silu1}, "
               "batch_norm, dropout: {p: 0.25}, batch_norm, gelu, flatten, batch_norm, linear: "
               "{out: 10}]"},
    {.name = "group norms, of the input, after branches and of features",
     .input = "[2, 9, 8]",
     .layers = "[group_norm: {groups: 1, name: a}, conv: {out: 18, kernel: 3, padding: 1}, "
               "group_norm: {groups: 6, eps: 0.001, name: b}, relu, residual: {body: [conv: {out: "
               "18, kernel: 3, padding: 1, bias: false}, group_norm: {groups: 18}]}, batch_norm, "
               "group_norm: {groups: 3}, gelu, conv: {from: b, out: 18, kernel: 1}, add: {with: "
               "gelu1}, max_pool: {size: 2}, flatten, group_norm: {groups: 2}, linear: {out: 12}, "
               "group_norm: {groups: 1}, linear: {out: 10}]"},
    {.name = "layer norms, of the input, after branches and of features",
     .input = "[3, 9, 8]",
     .layers = "[layer_norm: {name: a}, conv: {out: 70, kernel: 3, padding: 1}, layer_norm: {eps: "
               "0.001, name: b}, relu, conv: {out: 18, kernel: 3, stride: 2, padding: 1}, "
               "residual: {body: [conv: {out: 18, kernel: 3, padding: 1, bias: false}, "
               "layer_norm]}, batch_norm, layer_norm, gelu, conv: {from: b, out: 18, kernel: 1, "
               "stride: 2}, layer_norm, add: {with: gelu1}, max_pool: {size: 2}, flatten, "
               "layer_norm, linear: {out: 12}, layer_norm, linear: {out: 10}]"},
    {.name = "local response norms",
     .input = "[3, 9, 10]",
     .layers = "[local_response_norm: {size: 2, alpha: 0.5}, conv: {out: 17, kernel: 3, padding: "
               "1}, relu, local_response_norm: {size: 5, alpha: 0.3, beta: 0.5, k: 2, name: a}, "
               "max_pool: {size: 2}, local_response_norm: {size: 4, alpha: 2, beta: 1, name: b}, "
               "conv: {out: 17, kernel: 3, padding: 1}, local_response_norm: {size: 9, alpha: "
               "0.7}, add: {with: b}, conv: {from: a, out: 17, kernel: 2, stride: 2}, add: {with: "
               "add1}, local_response_norm: {size: 1, alpha: 1, beta: 0.25, k: 0.1}, flatten, "
               "linear: {out: 10}]"},
    {.name = "winograd with blocks of one to four tiles",
     .input = "[2, 9, 13]",
     .layers = "[conv: {out: 17, kernel: 3, padding: 1}, relu, conv: {out: 20, kernel: 3, padding: "
               "1}, max_pool: {size: [2, 1]}, conv: {out: 18, kernel: 3, padding: 1}, max_pool: "
               "{size: [1, 2]}, conv: {out: 35, kernel: 3, padding: 1, bias: false}, batch_norm, "
               "relu, max_pool: {size: [1, 2]}, conv: {out: 66, kernel: 3, padding: 1}, flatten, "
               "linear: {out: 10}]"},
    {.name = "grouped and depthwise convolutions",
     .input = "[2, 9, 8]",
     .layers = "[conv: {out: 32, kernel: 3, padding: 1, groups: 2}, relu, conv: {out: 32, kernel: "
               "3, padding: 1, groups: 32, bias: false}, batch_norm, relu, conv: {out: 64, kernel: "
               "3, padding: 1, groups: 2}, max_pool: {size: 2}, relu, conv: {out: 96, kernel: [3, "
               "2], stride: 2, padding: 1, groups: 32}, relu, conv: {out: 12, kernel: 1, groups: "
               "4}, flatten, linear: {out: 10}]"},
    {.name = "strides larger than the kernel or than the image",
     .input = "[2, 11, 13]",
     .layers =
         "[conv: {out: 5, kernel: 2}, relu, conv: {out: 4, kernel: [1, 2], stride: [3, 4], "
         "padding: [1, 3]}, relu, conv: {out: 7, kernel: [2, 1], stride: [5, 2]}, relu, conv: "
         "{out: 5, kernel: 3, stride: [4, 3], padding: [2, 4]}, flatten, linear: {out: 10}]"},
    {.name = "scaled logits",
     .input = "[2, 6, 5]",
     .layers = "[conv: {out: 5, kernel: 3, padding: 1}, relu, flatten, linear: {out: 10}, scale: "
               "{factor: 0.1111}]"},
    {.name = "scaled logits and their log-softmax",
     .input = "[2, 5, 4]",
     .layers = "[conv: {out: 3, kernel: 3}, relu, flatten, linear: {out: 10}, scale: {factor: "
               "0.7}, log_softmax]"},
    {.name = "scales between other layers",
     .input = "[2, 7, 6]",
     .layers = "[scale: {factor: -1.5}, conv: {out: 5, kernel: 3, padding: 1}, scale: {factor: 3}, "
               "max_pool: {size: 2}, scale: {factor: 0.25}, residual: {body: [conv: {out: 5, "
               "kernel: 1}, scale: {factor: 0.1}]}, flatten, linear: {out: 12}, scale: {factor: "
               "2}, relu, linear: {out: 10, bias: false}, scale: {factor: 4}]"},
    {.name = "a residual block",
     .input = "[3, 8, 7]",
     .layers = "[conv: {out: 6, kernel: 3, padding: 1}, relu, residual: {body: [conv: {out: 6, "
               "kernel: 3, padding: 1}, relu, conv: {out: 6, kernel: 3, padding: 1}]}, relu, "
               "flatten, linear: {out: 10}]"},
    {.name = "layers without a product after the ReLU of a sum",
     .input = "[2, 7, 6]",
     .layers = "[conv: {name: a, out: 4, kernel: 3}, conv: {out: 4, kernel: 3, padding: 1}, "
               "batch_norm, add: {with: a}, relu, batch_norm, gelu, residual: {body: [conv: {out: "
               "4, kernel: 1}]}, relu, relu, flatten, linear: {out: 10}]"},
    {.name = "residual blocks with batch norm, one strided",
     .input = "[3, 9, 8]",
     .layers = "[conv: {out: 16, kernel: 3, padding: 1, bias: false}, batch_norm, relu, residual: "
               "{body: [conv: {out: 16, kernel: 3, padding: 1, bias: false}, batch_norm, relu, "
               "conv: {out: 16, kernel: 3, padding: 1, bias: false}, batch_norm]}, relu, residual: "
               "{body: [conv: {out: 18, kernel: 3, stride: 2, padding: 1, bias: false}, "
               "batch_norm, relu, conv: {out: 18, kernel: 3, padding: 1, bias: false}, "
               "batch_norm], shortcut: [conv: {out: 18, kernel: 1, stride: 2, bias: false}, "
               "batch_norm]}, relu, global_avg_pool, flatten, linear: {out: 10}]"},
    {.name = "images of one tile of Winograd's algorithm, with batch norm",
     .input = "[3, 8, 8]",
     .layers = "[conv: {out: 17, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, "
               "conv: {out: 20, kernel: 3, padding: 1, bias: false}, batch_norm, relu, max_pool: "
               "{size: 2, stride: 1}, conv: {out: 18, kernel: 3, padding: 1}, batch_norm, relu, "
               "flatten, linear: {out: 10}]"},
    {.name = "residual blocks on images of two tiles of Winograd's algorithm",
     .input = "[3, 4, 7]",
     .layers = "[conv: {out: 16, kernel: 3, padding: 1, bias: false}, batch_norm, relu, residual: "
               "{body: [conv: {out: 16, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 16, "
               "kernel: 3, padding: 1}, batch_norm]}, relu, residual: {body: [relu, conv: {out: "
               "16, kernel: 3, padding: 1}]}, flatten, linear: {out: 10}]"},
    {.name = "residual blocks that normalise first",
     .input = "[2, 6, 6]",
     .layers = "[conv: {out: 5, kernel: 3, padding: 1}, residual: {body: [batch_norm, relu, conv: "
               "{out: 5, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 5, kernel: 5, "
               "padding: 2}]}, residual: {body: [batch_norm, relu, dropout: {p: 0.25}, conv: "
               "{out: 5, kernel: 1}]}, batch_norm, relu, max_pool: {size: 2}, flatten, linear: "
               "{out: 10}]"},
    {.name = "branches from the input",
     .input = "[2, 7, 6]",
     .layers = "[conv: {name: a, out: 4, kernel: 3, padding: 1}, conv: {from: input, name: b, out: "
               "4, kernel: 1}, add: {with: a}, relu, conv: {from: input, out: 4, kernel: 5, "
               "padding: 2}, add: {with: relu1}, flatten, linear: {out: 10}]"},
    {.name = "the input in a sum",
     .input = "[3, 6, 5]",
     .layers = "[residual: {body: [conv: {out: 3, kernel: 3, padding: 1}, relu]}, max_pool: {size: "
               "2}, residual: {body: [relu]}, flatten, linear: {out: 10}]"},
    {.name = "one value with many readers",
     .input = "[2, 8, 8]",
     .layers = "[conv: {name: a, out: 4, kernel: 3, padding: 1}, max_pool: {size: 3, stride: 1, "
               "padding: 1}, add: {with: a, name: b}, avg_pool: {from: a, size: 3, stride: 1, "
               "padding: 1}, add: {with: b, name: c}, dropout: {from: a, p: 0.5}, add: {with: c, "
               "name: d}, conv: {from: a, out: 4, kernel: 3, padding: 1}, batch_norm, relu, add: "
               "{with: d}, add: {with: a}, max_pool: {size: 2}, flatten, linear: {out: 10}]"},
    {.name = "twice the same value",
     .input = "[1, 5, 5]",
     .layers = "[conv: {name: a, out: 3, kernel: 2}, add: {with: a}, batch_norm, flatten, linear: "
               "{name: l, out: 9}, relu, add: {with: l}, linear: {out: 10}]"},
    {.name = "a flattened image that convolutions read too",
     .input = "[2, 6, 5]",
     .layers = "[conv: {name: a, out: 4, kernel: 3, padding: 1}, flatten, linear: {name: l, out: "
               "12}, conv: {from: a, out: 3, kernel: 3, padding: 2}, relu, flatten, linear: {out: "
               "12}, add: {with: l}, relu, flatten: {from: a, name: f}, batch_norm, linear: {out: "
               "12}, add: {with: relu2}, linear: {out: 10}]"},
    {.name = "products of two values, and of a value with itself",
     .input = "[2, 7, 6]",
     .layers = "[conv: {name: a, out: 4, kernel: 3, padding: 1}, silu, multiply: {with: a, name: "
               "b}, conv: {out: 4, kernel: 1}, batch_norm, relu, multiply: {with: b}, multiply: "
               "{with: a}, multiply: {with: multiply2, name: c}, batch_norm, multiply: {with: c}, "
               "flatten, linear: {out: 9}, gelu, multiply: {with: gelu1}, linear: {out: 10}]"},
    {.name = "a residual block with a gate, and gates as first input, as features and shared",
     .input = "[3, 9, 8]",
     .layers = "[conv: {out: 6, kernel: 3, padding: 1}, batch_norm, relu, residual: {body: [conv: "
               "{out: 6, kernel: 3, padding: 1}, batch_norm: {name: n}, global_avg_pool, conv: "
               "{out: 3, kernel: 1}, relu, conv: {out: 6, kernel: 1}, sigmoid: {name: g}, "
               "multiply: {with: n}]}, relu: {name: r}, multiply: {with: g}, batch_norm, conv: "
               "{out: 5, kernel: 2}, batch_norm, hard_swish: {name: h}, global_avg_pool, flatten, "
               "linear: {out: 4}, relu, linear: {out: 5}, hard_sigmoid: {name: f}, multiply: "
               "{from: h, with: f, name: m}, multiply: {from: input, with: input}, conv: {out: 5, "
               "kernel: 2}, multiply: {with: f}, add: {with: m}, max_pool: {size: 2}, flatten, "
               "linear: {out: 10}]"},
    {.name = "branches side by side",
     .input = "[3, 8, 7]",
     .layers =
         "[conv: {out: 6, kernel: 3, padding: 1}, relu: {name: x}, conv: {out: 5, kernel: 1}, "
         "batch_norm, relu: {name: a}, conv: {from: x, out: 16, kernel: 3, padding: 1}, "
         "batch_norm, relu: {name: b}, conv: {from: x, out: 4, kernel: 5, padding: 2}, gelu: "
         "{name: c}, max_pool: {from: x, size: 3, stride: 1, padding: 1}, conv: {out: 3, kernel: "
         "1}, concat: {from: a, with: [b, c, conv5]}, max_pool: {size: 2}, conv: {out: 4, kernel: "
         "3, padding: 1}, relu, flatten, linear: {out: 10}]"},
    {.name = "blocks of concats of concats",
     .input = "[3, 8, 8]",
     .layers =
         "[conv: {name: x, out: 6, kernel: 3, padding: 1, bias: false}, batch_norm, relu, conv: "
         "{out: 8, kernel: 1, bias: false}, batch_norm, relu, conv: {out: 5, kernel: 3, padding: "
         "1}, concat: {name: y, with: x}, batch_norm, relu, conv: {out: 17, kernel: 1}, "
         "batch_norm, relu, conv: {out: 5, kernel: 3, padding: 1}, concat: {name: z, with: [y]}, "
         "batch_norm, relu, conv: {out: 16, kernel: 3, padding: 1}, concat: {with: z}, "
         "batch_norm, relu, conv: {out: 7, kernel: 1}, avg_pool: {size: 2}, batch_norm, relu, "
         "global_avg_pool, flatten, linear: {out: 10}]"},
    {.name = "halves of the channels, shuffled",
     .input = "[2, 7, 6]",
     .layers =
         "[conv: {out: 8, kernel: 3, padding: 1}, batch_norm, relu: {name: x}, slice: {name: a, "
         "channels: [0, 4]}, slice: {from: x, channels: [4, 8]}, conv: {out: 4, kernel: 1}, relu, "
         "conv: {out: 4, kernel: 3, padding: 1, groups: 4}, batch_norm, relu: {name: b}, concat: "
         "{from: a, with: [b]}, shuffle: {groups: 2}, max_pool: {size: 2}, slice: {channels: [1, "
         "7]}, shuffle: {groups: 3}, conv: {out: 4, kernel: 1}, flatten, linear: {out: 10}]"},
    {.name = "slices that overlap, leave channels out, or are read again",
     .input = "[4, 6, 5]",
     .layers =
         "[slice: {name: i, channels: [1, 4]}, conv: {name: x, out: 6, kernel: 3, padding: 1}, "
         "slice: {name: a, channels: [0, 4]}, slice: {from: x, name: b, channels: [2, 5]}, "
         "batch_norm: {from: a, name: n}, conv: {from: b, out: 3, kernel: 3, padding: 1}, add: "
         "{with: b}, concat: {with: [n, i, a, input]}, conv: {out: 5, kernel: 5, padding: 2, name: "
         "y}, slice: {name: c, channels: [3, 5]}, relu, slice: {from: y, channels: [0, 3], name: "
         "d}, slice: {from: d, channels: [1, 3], name: e}, add: {with: relu1}, concat: {with: [c, "
         "e, d]}, flatten, linear: {out: 10}]"},
    {.name = "concats of a value with itself, and of values that others read",
     .input = "[2, 6, 6]",
     .layers =
         "[concat: {name: i, with: [input, input]}, conv: {name: x, out: 4, kernel: 3, padding: "
         "1}, relu: {name: r}, concat: {with: r, name: c}, conv: {from: r, out: 3, kernel: 5, "
         "padding: 2}, conv: {from: c, out: 3, kernel: 3, padding: 2}, conv: {out: 3, kernel: 3}, "
         "add: {with: conv2}, concat: {with: [r, c, i], name: d}, conv: {from: r, out: 2, kernel: "
         "1, name: l}, concat: {from: d, with: l}, dropout: {p: 0.25}, concat: {with: d}, relu, "
         "batch_norm, flatten, linear: {out: 10}]"},
    {.name = "concats and slices of features",
     .input = "[2, 5, 6]",
     .layers =
         "[conv: {name: x, out: 4, kernel: 3, padding: 1}, conv: {out: 3, kernel: 5, padding: 2}, "
         "relu: {name: y}, concat: {with: x, name: z}, flatten: {name: f}, conv: {from: x, out: 2, "
         "kernel: 3, padding: 1}, relu, flatten: {name: g}, slice: {from: f, channels: [7, 100], "
         "name: s}, linear: {out: 12}, relu: {name: h}, concat: {with: [g, s, f]}, batch_norm, "
         "linear: {out: 9}, slice: {from: h, channels: [3, 12], name: t}, add: {with: fc2}, "
         "concat: {with: [h]}, slice: {channels: [5, 21]}, linear: {out: 10}]"},
    {.name = "a concat read as an image and as features",
     .input = "[3, 4, 5]",
     .layers =
         "[conv: {name: x, out: 4, kernel: 2, padding: 1}, relu: {name: r}, conv: {out: 3, kernel: "
         "5, padding: 2}, concat: {with: r, name: c}, flatten, linear: {out: 8, name: l}, conv: "
         "{from: r, out: 5, kernel: 3, padding: 1, groups: 1}, slice: {channels: [0, 2], name: s}, "
         "flatten, linear: {out: 8}, add: {with: l}, conv: {from: conv3, out: 2, kernel: 3, "
         "padding: 1}, flatten, linear: {out: 8, name: m}, concat: {with: [fc2, l, add1]}, relu, "
         "linear: {out: 10}]"},
    {.name = "a slice below which nothing is trained",
     .input = "[3, 5, 4]",
     .layers = "[max_pool: {size: 2}, slice: {channels: [0, 3]}, concat: {with: pool1}, slice: "
               "{channels: [2, 5]}, flatten, linear: {out: 10}]"},
    {.name = "vectors that become images, and layer norm over all of one",
     .input = "[2, 6, 5]",
     .layers = "[flatten, unflatten: {size: [5, 3, 4]}, conv: {out: 4, kernel: 3, padding: 1}, "
               "relu, flatten, layer_norm, unflatten: {size: [4, 3, 4], name: a}, conv: {out: 3, "
               "kernel: 3}, batch_norm, silu, flatten, linear: {out: 12, name: b}, unflatten: "
               "{size: [3, 2, 2]}, batch_norm, relu, max_pool: {size: 2}, flatten, concat: {with: "
               "b}, linear: {out: 4}, multiply: {from: a, with: fc2}, global_avg_pool, flatten, "
               "add: {with: fc2}, linear: {out: 10}]"},
    {.name = "logits: a convolution, pooled",
     .input = "[3, 9, 8]",
     .layers = "[conv: {out: 8, kernel: 3, padding: 1}, relu, max_pool: {size: 2}, dropout: {p: "
               "0.25}, conv: {out: 10, kernel: 1}, relu, global_avg_pool, flatten]"},
    {.name = "logits: a convolution as large as its input",
     .input = "[2, 7, 6]",
     .layers = "[conv: {out: 5, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 10, kernel: "
               "[7, 6], padding: 0}, flatten, log_softmax]"},
    {.name = "logits: a convolution with borders, all of its positions",
     .input = "[2, 5, 4]",
     .layers = "[conv: {out: 4, kernel: 3}, gelu, conv: {out: 2, kernel: 3, padding: 2, bias: "
               "false}, flatten]"},
    {.name = "logits: batch norm",
     .input = "[2, 5, 6]",
     .layers = "[conv: {out: 5, kernel: 3}, relu, flatten, linear: {out: 10}, batch_norm]"},
    {.name = "logits: pooling after ReLU",
     .input = "[2, 9, 7]",
     .layers = "[conv: {out: 5, kernel: 2}, batch_norm, relu, max_pool: {size: 2}, flatten]"},
    {.name = "logits: a smooth function, scaled",
     .input = "[2, 5, 6]",
     .layers =
         "[conv: {out: 5, kernel: 3}, batch_norm, relu, flatten, linear: {out: 10}, softplus, "
         "scale: {factor: 3}]"},
    {.name = "logits: a sum",
     .input = "[3, 4, 5]",
     .layers = "[flatten, linear: {out: 10}, relu, linear: {from: flatten1, out: 10, name: a}, "
               "batch_norm, gelu, add: {with: relu1}]"},
    {.name = "logits: a residual block",
     .input = "[3, 4, 5]",
     .layers = "[flatten, linear: {out: 10}, relu, residual: {body: [linear: {out: 10}]}]"},
    {.name = "logits: a concat",
     .input = "[3, 4, 5]",
     .layers = "[flatten, linear: {out: 9}, relu, linear: {out: 4}, linear: {from: relu1, out: 3}, "
               "concat: {with: [fc2, relu1]}]"},
    {.name = "logits: a slice",
     .input = "[3, 4, 5]",
     .layers = "[conv: {out: 6, kernel: 2}, relu, flatten, linear: {out: 15}, slice: {channels: "
               "[2, 9]}]"},
    {.name = "logits: a product",
     .input = "[3, 4, 5]",
     .layers = "[conv: {out: 6, kernel: 2}, relu, flatten, linear: {out: 10}, multiply: {with: "
               "fc1}]"},
    {.name = "logits: dropped",
     .input = "[3, 4, 5]",
     .layers = "[conv: {out: 6, kernel: 2}, relu, flatten, linear: {out: 10}, dropout: {p: 0.25}]"},
    {.name = "lenet", .path = "experiments/models/lenet.yaml", .large = true},
    {.name = "lenet-bn", .path = "experiments/models/lenet-bn.yaml", .large = true},
    {.name = "mnist-lenet", .path = "experiments/models/mnist-lenet.yaml", .large = true},
};

typedef struct split {
    int shards, count[MAX_SHARDS];
    bool sync;       // batch norm over all shards; the same for models without batch norm
    bool large_also; // also for the slow models
} split;

// Whole and partial groups of 16, shards of one sample, and empty shards at the end.
FOR_SOME_TESTS split splits[] = {
    {.shards = 1, .count = {1}, .large_also = true},
    {.shards = 1, .count = {2}},
    {.shards = 1, .count = {4}, .large_also = true}, // up to 4: kernels with four lanes
    {.shards = 1, .count = {5}},
    {.shards = 1, .count = {16}},
    {.shards = 1, .count = {17}, .large_also = true},
    {.shards = 1, .count = {33}},
    {.shards = 1, .count = {64}},
    {.shards = 2, .count = {17, 16}},
    {.shards = 2, .count = {3, 2}},
    {.shards = 2, .count = {33, 0}},
    {.shards = 4, .count = {5, 5, 4, 4}},
    {.shards = 4, .count = {17, 16, 16, 16}, .large_also = true},
    {.shards = 4, .count = {2, 1, 1, 1}},
    {.shards = 4, .count = {1, 1, 0, 0}},
    {.shards = 12, .count = {6, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 5}},
    {.shards = 1, .count = {33}, .sync = true},
    {.shards = 4, .count = {17, 16, 16, 16}, .sync = true, .large_also = true},
    {.shards = 4, .count = {4, 4, 4, 3}, .sync = true},
    {.shards = 4, .count = {1, 1, 1, 0}, .sync = true},
};

enum {
    MODELS = sizeof models / sizeof models[0],
    SPLITS = sizeof splits / sizeof splits[0],
};

#endif
