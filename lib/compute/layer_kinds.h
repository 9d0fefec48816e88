// SPDX-License-Identifier: MIT
// layer_kinds.h - the kinds of layers, and what distinguishes them outside of their own functions:
// one row of traits a kind.
//
// Code that treats several kinds alike asks for a trait and names no kind, so that it also holds
// for kinds that are added later. CONTRIBUTING.md, "Adding a layer", lists what else a kind needs.
#ifndef LOCKSTEP_COMPUTE_LAYER_KINDS_H
#define LOCKSTEP_COMPUTE_LAYER_KINDS_H

#include <stdbool.h>

// The functions of single elements that kernels know, on every device.
typedef enum activation_kind {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_GELU, // by the error function
    ACTIVATION_SILU,
    ACTIVATION_SCALE // the product with a constant
} activation_kind;

typedef enum layer_kind {
    LAYER_CONV,
    LAYER_LINEAR,
    LAYER_BATCH_NORM,
    LAYER_RELU,
    LAYER_MAX_POOL,
    LAYER_AVG_POOL,
    LAYER_FLATTEN,
    LAYER_DROPOUT,
    LAYER_ADD,
    LAYER_GELU,
    LAYER_SILU,
    LAYER_SCALE,
    LAYER_GROUP_NORM,
    LAYER_KINDS
} layer_kind;

// Where a layer is in a unit (compute/plan/units.h). A layer that cannot be in the unit before it
// begins one.
typedef enum layer_role {
    ROLE_NONE, // no engine can run it
    ROLE_ANCHOR,
    ROLE_NORM,   // epilogue: batch norm
    ROLE_RELU,   // epilogue: before or after pooling
    ROLE_SMOOTH, // the end of an epilogue, else unfused: an activation that pooling cannot precede
    ROLE_POOL,   // epilogue if its windows are 2×2 side by side, else unfused: max pooling
    ROLE_SCALE,  // with the anchor of the logits, else unfused
    ROLE_SUM,    // the only role with two inputs
    ROLE_VIEW,   // the same values as another shape
    ROLE_UNFUSED,
} layer_role;

typedef enum layer_tensors {
    TENSORS_NONE,
    TENSORS_PRODUCT,  // a weight that is multiplied with the input, at random; perhaps a bias
    TENSORS_CHANNELS, // weight and bias of each channel, initially 1 and 0
} layer_tensors;

typedef struct layer_traits {
    layer_role role;
    activation_kind activation; // the function of single elements that it is; NONE: another layer
    layer_tensors tensors;
    bool has_statistics; // running mean and variance of each channel
    bool has_choices; // forward leaves a byte for each output, by which backward goes: the place in
                      // its window that it came from, or whether it was kept
} layer_traits;

extern const layer_traits layer_kind_traits[LAYER_KINDS];

#endif
