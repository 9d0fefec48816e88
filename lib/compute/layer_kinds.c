// SPDX-License-Identifier: MIT
#include "compute/layer_kinds.h"

const layer_traits layer_kind_traits[LAYER_KINDS] = {
    [LAYER_CONV] = {.role = ROLE_ANCHOR, .tensors = TENSORS_PRODUCT},
    [LAYER_LINEAR] = {.role = ROLE_ANCHOR, .tensors = TENSORS_PRODUCT},
    [LAYER_BATCH_NORM] = {.role = ROLE_NORM, .tensors = TENSORS_CHANNELS, .has_statistics = true},
    [LAYER_RELU] = {.role = ROLE_RELU, .activation = ACTIVATION_RELU},
    [LAYER_MAX_POOL] = {.role = ROLE_POOL, .has_choices = true},
    [LAYER_AVG_POOL] = {.role = ROLE_UNFUSED},
    [LAYER_FLATTEN] = {.role = ROLE_VIEW},
    [LAYER_DROPOUT] = {.role = ROLE_UNFUSED, .has_choices = true},
    [LAYER_ADD] = {.role = ROLE_SUM},
    [LAYER_GELU] = {.role = ROLE_SMOOTH, .activation = ACTIVATION_GELU},
    [LAYER_SILU] = {.role = ROLE_SMOOTH, .activation = ACTIVATION_SILU},
    [LAYER_SCALE] = {.role = ROLE_SCALE, .activation = ACTIVATION_SCALE},
    [LAYER_GROUP_NORM] = {.role = ROLE_UNFUSED, .tensors = TENSORS_CHANNELS},
};
