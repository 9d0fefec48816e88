// SPDX-License-Identifier: MIT
// The two arithmetics.
#include "compute/cuda/plan/arithmetic.h"

static size_t none(const cuda_conv_task *t, int lanes, int shards) {
    (void)t, (void)lanes, (void)shards;
    return 0;
}

const arithmetic *cuda_arithmetic(bool exact) {
    static const arithmetic fast = {.fuses = true,
                                    .conv = cuda_conv,
                                    .conv_input = cuda_conv_input,
                                    .conv_weight = cuda_conv_weight,
                                    .conv_transforms = none,
                                    .conv_workspace = cuda_conv_workspace,
                                    .conv_counters = cuda_conv_counters,
                                    .moments = cuda_norm_moments,
                                    .moments_room = cuda_norm_moments_room,
                                    .epilogue_sums = cuda_epilogue_sums,
                                    .epilogue_sums_room = cuda_epilogue_sums_room};
    static const arithmetic of_cpu = {.conv = cuda_exact_conv,
                                      .conv_input = cuda_exact_conv_input,
                                      .conv_weight = cuda_exact_weight,
                                      .conv_transforms = cuda_exact_transforms,
                                      .conv_workspace = cuda_exact_workspace,
                                      .conv_counters = cuda_exact_counters,
                                      .moments = cuda_exact_moments,
                                      .moments_room = cuda_exact_moments_room,
                                      .epilogue_sums = cuda_exact_epilogue_sums,
                                      .epilogue_sums_room = cuda_exact_epilogue_sums_room};
    return exact ? &of_cpu : &fast;
}
