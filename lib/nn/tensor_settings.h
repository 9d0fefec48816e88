// SPDX-License-Identifier: MIT
// tensor_settings.h - settings of single tensors of a model: their initial values, and how they are
// trained.
#ifndef LOCKSTEP_NN_TENSOR_SETTINGS_H
#define LOCKSTEP_NN_TENSOR_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/optimizer_kinds.h"
#include "nn/initial_values.h"
#include "nn/model.h"

enum { TRAINED_ALWAYS = -1 };

typedef struct tensor_settings {
    init_kind init;
    double lr_factor;      // × the scheduled rate
    bool has_weight_decay; // else that of the optimizer
    double weight_decay;
    // The tensor is constant before and from these epochs on, counted from 0.
    int frozen_epochs, trained_epochs;
} tensor_settings;

// Returns the settings of a tensor for which nothing is set.
tensor_settings tensor_settings_default(void);

// Gives the tensors their initial values, except for those that begin with the default, which are
// not touched, and with whiten, which needs images. `settings` has one entry for each tensor of the
// model.
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

// Writes the groups of an update_rule (compute/backend.h) in a step, from 0, at the scheduled rate
// `lr`: PARAMETER_GROUPS - 1 of them.
void parameter_groups_rule(const parameter_groups *groups, double lr, double weight_decay,
                           uint64_t step, uint64_t steps_per_epoch, parameter_group *rule);
// Returns the groups that are frozen by that: those of a batch (compute/backend.h).
uint32_t parameter_groups_frozen(const parameter_groups *groups, const parameter_group *rule);

#endif
