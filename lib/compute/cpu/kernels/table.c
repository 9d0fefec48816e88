// SPDX-License-Identifier: MIT
// The table of one instruction set.
#include "simd.h"

#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)
extern const kernels KERNEL(kernel_table);
const kernels KERNEL(kernel_table) = {
    .isa = TEXT(KERNEL_ISA),
    .lanes = KERNEL_LANES,
    .conv_block_size = KERNEL(conv_block_size),
    .conv = KERNEL(conv),
    .conv_input = KERNEL(conv_input),
    .conv_weight = KERNEL(conv_weight),
    .winograd_scratch = KERNEL(winograd_scratch),
    .winograd_pack = KERNEL(winograd_pack),
    .winograd = KERNEL(winograd),
    .winograd_weight = KERNEL(winograd_weight),
    .linear = KERNEL(linear),
    .linear_transposed = KERNEL(linear_transposed),
    .linear_weight = KERNEL(linear_weight),
    .load = KERNEL(load),
    .moments = KERNEL(moments),
    .tail_forward = KERNEL(tail_forward),
    .tail_backward_sums = KERNEL(tail_backward_sums),
    .tail_backward = KERNEL(tail_backward),
    .relu_backward = KERNEL(relu_backward),
    .max_pool = KERNEL(max_pool),
    .max_pool_backward = KERNEL(max_pool_backward),
    .average_pool = KERNEL(average_pool),
    .average_pool_backward = KERNEL(average_pool_backward),
    .dropout = KERNEL(dropout),
    .dropout_backward = KERNEL(dropout_backward),
    .activation = KERNEL(activation),
    .activation_backward = KERNEL(activation_backward),
    .group_norm = KERNEL(group_norm),
    .group_norm_backward = KERNEL(group_norm_backward),
    .loss = KERNEL(loss),
    .update = KERNEL(update),
    .digest = KERNEL(digest),
    .add = KERNEL(add),
    .sum = KERNEL(sum),
};
