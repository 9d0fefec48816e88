// SPDX-License-Identifier: MIT
// views.h - views of a test image, whose logits are averaged: test-time augmentation. Nothing is
// random.
//
// mirror: the image and its mirror image, with weight 1/2 each. mirror-shift is that of
// cifar10-airbench (K. Jordan, arXiv 2404.00498): the image, shifted by (0, 0), (-1, -1) and (1, 1)
// with weights 1/2, 1/4 and 1/4, each divided between the view and its mirror image. The rows and
// columns that a shift brings in are mirrored at the border, as by a padding of 1 with reflection.
#ifndef LOCKSTEP_DATA_VIEWS_H
#define LOCKSTEP_DATA_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/program.h"

typedef enum test_views { VIEWS_NONE, VIEWS_MIRROR, VIEWS_MIRROR_SHIFT, VIEWS_KINDS } test_views;

// "none", "mirror", "mirror-shift": as in experiments, manifests and --tta.
const char *views_word(test_views kind);
// Finds the kind of that name; false: there is none.
bool views_find(const char *word, test_views *kind);
// The folder of an evaluation with these views, next to the training's: "evaluate",
// "evaluate-mirror", "evaluate-mirror-shift".
const char *views_folder(test_views kind);

int views_count(test_views kind); // 1, 2, 6
// The weight of a view; a power of 2. The sum over all is 1.
double views_weight(test_views kind, int view);
// mirror-shift needs images of at least 2 × 2 pixels.
bool views_fit(test_views kind, shape size);
// Writes a view of image `from` ([C][H][W]) to `to`; `scratch` has room for another image. The
// three do not overlap. The first view is the image itself.
void views_make(test_views kind, int view, shape size, const uint8_t *from, uint8_t *scratch,
                uint8_t *to);

#endif
