// SPDX-License-Identifier: MIT
#include "compute/layer_kinds.h"

#include "compute/program.h" // offsets of numbers

// The place of a number in a layer.
#define AT(field)                            .at = offsetof(layer, field)
#define TRAITS(to, KIND, name, options, ...) [LAYER_##KIND] = {.word = #name, __VA_ARGS__},
const layer_traits layer_kind_traits[LAYER_KINDS] = {LAYERS(TRAITS, )};
