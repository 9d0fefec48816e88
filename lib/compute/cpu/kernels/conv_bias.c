// SPDX-License-Identifier: MIT
// The bias gradient of a convolution, one vector of samples at a time.
#include "simd.h"

void KERNEL(conv_bias_gradient)(const conv_weight_task *t) {
    float sums[LANES] __attribute__((aligned(64)));
    for (int o = 0; o < t->dout.channels; o++) {
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            vec sum = vset(0.0f);
            for (int y = 0; y < t->dout.height; y++)
                sum += row_sum(t->dout.data + (size_t)o * t->dout.plane + (size_t)y * t->dout.row +
                                   slice * VL,
                               t->dout.width);
            vstore(sums + slice * VL, sum);
        }
        t->db[o] = t->accumulate ? t->db[o] + sum_by_halves(sums) : sum_by_halves(sums);
    }
}
