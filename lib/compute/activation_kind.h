// SPDX-License-Identifier: MIT
// activation_kind.h - the functions of single elements that kernels know, on every device.
#ifndef LOCKSTEP_COMPUTE_ACTIVATION_KIND_H
#define LOCKSTEP_COMPUTE_ACTIVATION_KIND_H

typedef enum activation_kind {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_GELU, // by the error function
    ACTIVATION_SILU,
    ACTIVATION_SCALE // the product with a constant
} activation_kind;

#endif
