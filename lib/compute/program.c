// SPDX-License-Identifier: MIT
// The table of layer_kinds.h, which knows where in a `layer` its numbers are.
#include "compute/program.h"

// The place of a number in a layer.
#define AT(field)                            .at = offsetof(layer, field)
#define TRAITS(to, KIND, name, options, ...) [LAYER_##KIND] = {.word = #name, __VA_ARGS__},
const layer_traits layer_kind_traits[LAYER_KINDS] = {LAYERS(TRAITS, )};
