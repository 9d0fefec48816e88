// SPDX-License-Identifier: MIT
#include "compute/optimizer_kinds.h"

#define ROW(kind, states, ...) [OPTIMIZER_##kind] = {__VA_ARGS__},
const optimizer_traits optimizer_kind_traits[OPTIMIZER_KINDS] = {OPTIMIZERS(ROW)};
