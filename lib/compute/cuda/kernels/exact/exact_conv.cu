// SPDX-License-Identifier: MIT
// Convolutions and linear layers, forward and input gradient, in the order of the CPU's engine.
#include "compute/cuda/kernels/exact/exact_correlation.cuh"
#include "compute/layer_sums.h"

void cuda_exact_conv(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (t->winograd) return cuda_exact_winograd(s, c, t);
    const correlation r = forward_of(c->lanes, c->first, t);
    const int part = t->linear ? long_sum_features(r.terms) : r.terms;
    const ordered_correlation o = {r, part, t->bias, t->z, {}};
    cuda_exact_correlate(s, c, &o);
}

void cuda_exact_conv_input(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (t->winograd) return cuda_exact_winograd_input(s, c, t);
    ordered_correlation o = {input_of(c->lanes, c->first, t), INT_MAX, NULL, t->dx, {}};
    if (!has_phases(t)) return cuda_exact_correlate(s, c, &o);
    for (int y = 0; y < t->stride_y; y++)
        for (int x = 0; x < t->stride_x; x++) {
            o.product = phase_of(c->lanes, c->first, t, y, x, &o.phase);
            cuda_exact_correlate(s, c, &o);
        }
}
