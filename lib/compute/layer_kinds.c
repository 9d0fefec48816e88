// SPDX-License-Identifier: MIT
#include "compute/layer_kinds.h"

#define TRAITS(to, KIND, name, options, ...) [LAYER_##KIND] = {.word = #name, __VA_ARGS__},
const layer_traits layer_kind_traits[LAYER_KINDS] = {LAYERS(TRAITS, )};
