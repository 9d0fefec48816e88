// SPDX-License-Identifier: MIT
// The other gradients of a convolution, one vector of samples at a time: the input gradient with a
// stride, and the bias gradient.
#include "simd.h"

// The sum that conv computes for stride 1, in the same order, one output at a time.
void KERNEL(conv_strided_input)(const conv_task *t) {
    const int kh = t->kernel_h, kw = t->kernel_w;
    for (int c = 0; c < t->out.channels; c++)
        for (int y = 0; y < t->out.height; y++)
            for (int x = 0; x < t->out.width; x++)
                for (int slice = 0; slice < LANE_SLICES; slice++) {
                    vec sum = vset(0.0f);
                    for (int o = 0; o < t->in.channels; o++)
                        for (int k = kh * kw - 1; k >= 0; k--) {
                            int oy = y + t->pad_y - k / kw, ox = x + t->pad_x - k % kw;
                            if (oy < 0 || ox < 0 || oy % t->stride_y || ox % t->stride_x) continue;
                            oy /= t->stride_y;
                            ox /= t->stride_x;
                            if (oy >= t->in.height || ox >= t->in.width) continue;
                            float w = t->packed[((size_t)o * (size_t)t->out.channels + (size_t)c) *
                                                    (size_t)(kh * kw) +
                                                (size_t)k];
                            sum = vfma(vset(w),
                                       vload(t->in.data + (size_t)o * t->in.plane +
                                             (size_t)oy * t->in.row + (size_t)ox * LANES +
                                             slice * VL),
                                       sum);
                        }
                    vstore(t->out.data + (size_t)c * t->out.plane + (size_t)y * t->out.row +
                               (size_t)x * LANES + slice * VL,
                           sum);
                }
}

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
