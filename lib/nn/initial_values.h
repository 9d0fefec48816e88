// SPDX-License-Identifier: MIT
// initial_values.h - the parameters and buffers at the beginning of training.
#ifndef LOCKSTEP_NN_INITIAL_VALUES_H
#define LOCKSTEP_NN_INITIAL_VALUES_H

#include "base/random.h"
#include "nn/model.h"

// Initialises parameters and buffers from PyTorch's default distributions: weights and biases of
// conv and linear layers are uniform in ±1/sqrt(fan_in), batch norm weights are 1 and biases 0,
// running means are 0 and variances 1. Fills both arenas completely.
//
// The numbers come from Philox (RANDOM_INIT, sample = 0 for the weight and 1 for the bias,
// element). Its seed is layer_seed(): the run's seed, XOR the first 8 bytes (big-endian) of the
// SHA-256 of the layer's name. So a tensor's values depend on its shape and name alone, not on
// other layers; layers without tensors do not count in the names that layers have by default.
void model_init_parameters(const model *m, uint64_t seed, float *parameters, float *buffers);

// ---- Tensors with other values ----

// Normal and uniform ones are those of torch.nn.init: K. He et al., arXiv 1502.01852 (fan-in, gain
// √2); X. Glorot and Y. Bengio, AISTATS 2010.
typedef enum init_kind {
    INIT_DEFAULT,         // as model_init_parameters
    INIT_KAIMING_NORMAL,  // deviation √(2 / fan-in)
    INIT_KAIMING_UNIFORM, // in ±√(6 / fan-in)
    INIT_XAVIER_UNIFORM,  // in ±√(6 / (fan-in + fan-out))
    INIT_ZERO,
    INIT_ONE,
    INIT_DIRAC,  // the first filters of a convolution pass on their channel; the others: default
    INIT_WHITEN, // of the training images: whitening.h
    INIT_KINDS
} init_kind;

// Returns the word for it in experiment files: "kaiming_normal".
const char *init_kind_word(init_kind kind);

// Returns NULL if a tensor may begin with these values, else the tensors that may: "the weight of a
// convolution".
const char *init_kind_needs(init_kind kind, const model *m, const model_tensor *t);

// Gives a tensor its initial values: INIT_DEFAULT and INIT_WHITEN change nothing. The random
// numbers are those of model_init_parameters; normal ones are made of two by the method of Box and
// Muller.
void model_init_tensor(const model *m, const model_tensor *t, init_kind kind, uint64_t seed,
                       float *values);

// Returns a normally distributed number, of mean 0 and deviation 1, with the same bits on every
// machine. Elements 2k and 2k + 1 are made of the stream's elements 2k and 2k + 1 (G. E. P. Box and
// M. E. Muller, Annals of Mathematical Statistics 29, 1958).
double normal_number(const random_stream *s, uint64_t element);

#endif
