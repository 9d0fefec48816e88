// SPDX-License-Identifier: MIT
// synthetic.h - drawn images: data for tests and first runs, without a network.
//
// The class is the shape drawn, one of ten: disc, ring, square, triangle, cross, horizontal,
// vertical or diagonal stripes, checkerboard, gradient. Colours, position, size and phase are
// random, a rectangle of a third colour may cover a part, and noise covers it all: a small network
// learns it, but not immediately. Image i of a split is a function of (seed, split, i) and the
// shape, computed in integers, so its bytes are the same everywhere and do not depend on the number
// of images. With more than ten classes several have the same shape: they cannot be told apart.
#ifndef LOCKSTEP_DATA_SOURCE_SYNTHETIC_H
#define LOCKSTEP_DATA_SOURCE_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { SYNTHETIC_SHAPES = 10, SYNTHETIC_MAX_CLASSES = 1000, SYNTHETIC_MAX_SIDE = 1024 };

extern const char *const synthetic_shape_names[SYNTHETIC_SHAPES];

typedef struct synthetic {
    uint64_t seed;
    int classes;                 // 2 to SYNTHETIC_MAX_CLASSES
    int channels, height, width; // 1 to DATASET_MAX_CHANNELS; 1 to SYNTHETIC_MAX_SIDE
    bool noise; // random bytes and labels instead: nothing to learn, and incompressible
} synthetic;

// Draws image `index` of the training split (split 0) or the test split (split 1) into `image`
// [C][H][W], and returns its label. Class k has the shape k mod SYNTHETIC_SHAPES.
uint32_t synthetic_draw(const synthetic *s, int split, uint32_t index, uint8_t *image);

#endif
