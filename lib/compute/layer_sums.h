// SPDX-License-Identifier: MIT
// layer_sums.h - how the sums of a layer are taken, as far as the layer alone decides it: which
// instruction set, thread or rank computes them has no effect.
//
// Sums over the positions of large images, and over very many features, have two levels. The
// rounding error of a float sum grows with the number of its terms. Up to LONG_SUM positions, those
// of 64×64 images, are added one after another. A longer sum is cut into parts of neighbouring
// terms; each part is summed from zero, and the sums of the parts are added in order. So n terms
// take chains of at most LONG_SUM_PART and n / LONG_SUM_PART additions, or so. (For the error of
// blocked sums see N. Higham, "The accuracy of floating point summation", 1993.)
#ifndef LOCKSTEP_COMPUTE_LAYER_SUMS_H
#define LOCKSTEP_COMPUTE_LAYER_SUMS_H

#include <stdbool.h>

#include "base/philox.h" // HOST_DEVICE
#include "compute/program.h"

enum {
    LONG_SUM = 64 * 64,  // positions of the longest sum without parts
    LONG_SUM_PART = 256, // terms of a part; one that consists of rows has at least one row
};

// Is a sum over height × width positions cut into parts?
HOST_DEVICE static inline bool is_long_sum(int height, int width) {
    return (long long)height * width > LONG_SUM;
}

// Returns the rows of a part. A sum without parts is one part.
HOST_DEVICE static inline int long_sum_rows(int height, int width) {
    if (!is_long_sum(height, width)) return height;
    return width < LONG_SUM_PART ? LONG_SUM_PART / width : 1;
}

// The inputs of a linear layer: up to 16 channels of 64×64 images are added one after another.
enum { LONG_SUM_FEATURES = 16 * LONG_SUM, LONG_SUM_FEATURES_PART = 1024 };

// Returns the inputs of a part.
HOST_DEVICE static inline int long_sum_features(int inputs) {
    return inputs > LONG_SUM_FEATURES ? LONG_SUM_FEATURES_PART : inputs;
}

// The channels of a part, in a sum over those of one position.
enum { LONG_SUM_CHANNELS_PART = 64 };

// ---- Winograd's algorithm ----

// Returns true if CPUs compute this layer, a convolution, by Winograd's algorithm, because it is
// faster. All of its passes then use it; its sums are others. The transforms cost as much as the
// products of a few channels, and tiles at the edges almost as much as whole ones.
static inline bool winograd_pays(const layer *l) {
    enum { CHANNELS = 16 };
    const int height = (l->out.height + 3) / 4 * 4, width = (l->out.width + 3) / 4 * 4;
    return l->kind == LAYER_CONV && layer_groups(l) == 1 && l->kernel_h == 3 && l->kernel_w == 3 &&
           l->stride_h == 1 && l->stride_w == 1 && l->pad_h <= 2 && l->pad_w <= 2 &&
           l->in.channels >= CHANNELS && l->out.channels >= CHANNELS &&
           2 * l->out.height * l->out.width >= height * width;
}

#endif
