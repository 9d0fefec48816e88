// SPDX-License-Identifier: MIT
// color_jitter.h - brightness, contrast, saturation and hue of images in the host's memory.
//
// The pixels are those of torchvision.transforms.ColorJitter on uint8 tensors, on a CPU: floats,
// with each operation rounded once (-ffp-contract=off), and after each of the four changes the
// nearest byte below. The mean for the contrast is of exact integers; torchvision's sum of floats
// is exact as well in images of up to 65,793 pixels.
#ifndef LOCKSTEP_DATA_COLOR_JITTER_H
#define LOCKSTEP_DATA_COLOR_JITTER_H

#include <stdint.h>

#include "compute/augmentation.h"

typedef struct color_change {
    color_property property;
    double amount; // hue: turns to add, -0.5 … 0.5; otherwise a factor, at least 0
} color_change;

typedef struct color_jitter_choice {
    int count;
    color_change changes[COLOR_PROPERTIES]; // in this order
} color_jitter_choice;

// Elements of the stream (RANDOM_COLOR_JITTER): 0 to 2 permute the four properties, 4 to 7 are
// their amounts. Properties whose range is 0 are left out.
color_jitter_choice color_jitter_choose(const augmentation *a, const augment_key *key, int place);

// torchvision.transforms.functional.adjust_*, one after another. The image has 1 or 3 channels; one
// channel has neither saturation nor hue.
void image_color_jitter(shape size, const color_jitter_choice *c, const uint8_t *from, uint8_t *to);

#endif
