// SPDX-License-Identifier: MIT
// arithmetic.h - the kernels whose sums have more than one order.
//
// With the fast arithmetic, kernels add up a shard in an order of their own, so CPU and GPU agree
// only within rounding. With the exact one they add along the CPU's tree of the shard's groups, and
// then the two agree in every bit. All other kernels have only one order, the CPU's.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_ARITHMETIC_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_ARITHMETIC_H

#include "compute/cuda/kernels/cuda_kernels.h"

typedef struct arithmetic {
    // Large linear layers are products of cuBLAS, and products have further results: in another
    // order.
    bool fuses;
    void (*conv)(launch_stream s, const cut *c, const cuda_conv_task *t);
    void (*conv_input)(launch_stream s, const cut *c, const cuda_conv_task *t);
    void (*conv_weight)(launch_stream s, const cut *c, const cuda_conv_task *t);
    size_t (*conv_transforms)(const cuda_conv_task *t, int lanes, int shards);
    size_t (*conv_workspace)(const cuda_conv_task *t, int lanes, int shards);
    size_t (*conv_counters)(const cuda_conv_task *t, int lanes, int shards);
    void (*moments)(launch_stream s, const cut *c, const norm_task *t);
    parts_room (*moments_room)(shape size, int lanes, int shards);
    void (*epilogue_sums)(launch_stream s, const cut *c, const cuda_epilogue_task *t);
    parts_room (*epilogue_sums_room)(const cuda_epilogue_task *t, int lanes, int shards);
} arithmetic;

const arithmetic *cuda_arithmetic(bool exact);

#endif
