// SPDX-License-Identifier: MIT
// winograd.h - which convolutions CPUs compute by Winograd's algorithm. Its sums are others, so the
// answer is part of a network's arithmetic, like the order of its sums.
#ifndef LOCKSTEP_COMPUTE_WINOGRAD_H
#define LOCKSTEP_COMPUTE_WINOGRAD_H

#include "compute/program.h"

// Returns true if Winograd's algorithm is faster for this layer, a convolution. All of its passes
// then use it. The transforms cost as much as the products of a few channels, and tiles at the
// edges almost as much as whole ones.
static inline bool winograd_pays(const layer *l) {
    enum { CHANNELS = 16 };
    const int height = (l->out.height + 3) / 4 * 4, width = (l->out.width + 3) / 4 * 4;
    return l->kind == LAYER_CONV && layer_groups(l) == 1 && l->kernel_h == 3 && l->kernel_w == 3 &&
           l->stride_h == 1 && l->stride_w == 1 && l->pad_h <= 2 && l->pad_w <= 2 &&
           l->in.channels >= CHANNELS && l->out.channels >= CHANNELS &&
           2 * l->out.height * l->out.width >= height * width;
}

#endif
