// SPDX-License-Identifier: MIT
// whitening.h - filters that decorrelate the patches of images: the first layer of a network that
// learns in few epochs (D. Page, "How to train
// your ResNet", 2019; K. Jordan, arXiv 2404.00498).
#ifndef LOCKSTEP_NN_WHITENING_H
#define LOCKSTEP_NN_WHITENING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    WHITENING_IMAGES = 5000,    // of which patches are taken, if there are so many
    WHITENING_MAX_VALUES = 256, // of a patch: the work grows with their square
};

typedef struct whitening_images {
    const uint8_t *const *pixels; // of each image: [channels][height][width]
    size_t count;
    int channels, height, width;
    const float *mean, *std; // [channels]: a byte becomes (byte / 255 - mean) / std
} whitening_images;

// Fills weight[outputs][channels][kernel_h][kernel_w]. With E the second moments of all patches of
// that size, normalised: the eigenvectors of E, each divided by √(its eigenvalue + 5e-4), in the
// order of their eigenvalues, largest first; then their negatives; the first `outputs` of them. The
// largest value of an eigenvector, the first of equals, is positive before the negatives are taken.
//
// The moments are sums of integers, so the order of the images does not matter. Eigenvectors are
// found in double by Jacobi's method, with operations that IEEE 754 rounds in one way: the bits are
// the same everywhere.
//
// outputs is at most 2 · channels · kernel_h · kernel_w; a patch has at most WHITENING_MAX_VALUES.
// Fails only without memory.
void whitening_filters(const whitening_images *images, int kernel_h, int kernel_w, int outputs,
                       float *weight);

#endif
