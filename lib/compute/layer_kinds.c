// SPDX-License-Identifier: MIT
#include "compute/layer_kinds.h"

const layer_traits layer_kind_traits[LAYER_KINDS] = {
    [LAYER_CONV] = {.role = ROLE_CORE, .tensors = TENSORS_PRODUCT},
    [LAYER_LINEAR] = {.role = ROLE_CORE, .tensors = TENSORS_PRODUCT},
    [LAYER_BATCH_NORM] = {.role = ROLE_NORM, .tensors = TENSORS_CHANNELS, .has_statistics = true},
    [LAYER_RELU] = {.role = ROLE_RELU, .activation = ACTIVATION_RELU},
    [LAYER_MAX_POOL] = {.role = ROLE_POOL, .has_choices = true},
    [LAYER_AVG_POOL] = {.role = ROLE_ALONE},
    [LAYER_FLATTEN] = {.role = ROLE_VIEW},
    [LAYER_DROPOUT] = {.role = ROLE_ALONE, .has_choices = true},
    [LAYER_ADD] = {.role = ROLE_SUM},
    [LAYER_GELU] = {.role = ROLE_SMOOTH, .activation = ACTIVATION_GELU},
    [LAYER_SILU] = {.role = ROLE_SMOOTH, .activation = ACTIVATION_SILU},
    [LAYER_SCALE] = {.role = ROLE_SCALE, .activation = ACTIVATION_SCALE},
    [LAYER_GROUP_NORM] = {.role = ROLE_ALONE, .tensors = TENSORS_CHANNELS},
};
