// SPDX-License-Identifier: MIT
// tensor_settings.h - settings of single tensors of a model: their initial values, and how they are
// trained.
#ifndef LOCKSTEP_NN_TENSOR_SETTINGS_H
#define LOCKSTEP_NN_TENSOR_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/optimizer_kinds.h"
#include "nn/model.h"

// Initial values. Normal and uniform ones are those of torch.nn.init: K. He et al., arXiv
// 1502.01852 (fan-in, gain √2); X. Glorot and Y. Bengio, AISTATS 2010.
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

enum { TRAINED_ALWAYS = -1 };

typedef struct tensor_settings {
    init_kind init;
    double lr_factor;      // × the scheduled rate
    bool has_weight_decay; // else that of the optimizer
    double weight_decay;
    int trained_epochs; // from this epoch on (counted from 0) the tensor is constant
} tensor_settings;

// Returns the settings of a tensor for which nothing is set.
tensor_settings tensor_settings_default(void);

// Gives the tensors their initial values, except for those that begin with the default, which are
// not touched, and with whiten, which needs images. The random numbers are those of
// model_init_parameters; normal ones are made of two by the method of Box and Muller.
// `settings` has one entry for each tensor of the model.
void tensor_settings_init(const model *m, const tensor_settings *settings, uint64_t seed,
                          float *parameters);

// The tensors, divided into groups that are updated alike. Group 0 has those for which nothing is
// set.
typedef struct parameter_groups {
    uint8_t *of_line; // engine_options.parameter_groups; NULL: group 0 has all tensors
    int count;        // with group 0
    tensor_settings settings[PARAMETER_GROUPS];
} parameter_groups;

// If there would be more than PARAMETER_GROUPS, `count` is that number and `of_line` is NULL.
status parameter_groups_make(parameter_groups *groups, const model *m,
                             const tensor_settings *settings, error *err) MUST_CHECK;
void parameter_groups_release(parameter_groups *groups);

// Writes the groups of an update_rule (compute/backend.h) in an epoch, from 0, at the scheduled
// rate `lr`: PARAMETER_GROUPS - 1 of them.
void parameter_groups_rule(const parameter_groups *groups, double lr, double weight_decay,
                           uint64_t epoch, parameter_group *rule);

#endif
