// SPDX-License-Identifier: MIT
// tta.h - test-time augmentation: views of a test image, whose logits are averaged. Nothing is
// random.
//
// mirror: the image and its mirror image, with weight 1/2 each. mirror-shift is that of
// cifar10-airbench (K. Jordan, arXiv 2404.00498): the image, shifted by (0, 0), (-1, -1) and (1, 1)
// with weights 1/2, 1/4 and 1/4, each divided between the view and its mirror image. The rows and
// columns that a shift brings in are mirrored at the border, as by a padding of 1 with reflection.
#ifndef LOCKSTEP_DATA_TTA_H
#define LOCKSTEP_DATA_TTA_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/program.h"

typedef enum tta_kind { TTA_NONE, TTA_MIRROR, TTA_MIRROR_SHIFT, TTA_KINDS } tta_kind;

// "none", "mirror", "mirror-shift": as in experiments, manifests and --tta.
const char *tta_word(tta_kind kind);
// Finds the kind of that name; false: there is none.
bool tta_find(const char *word, tta_kind *kind);
// The folder of an evaluation with these views, next to the training's: "evaluate",
// "evaluate-mirror", "evaluate-mirror-shift".
const char *tta_folder(tta_kind kind);

int tta_count(tta_kind kind); // 1, 2, 6
// The weight of a view; a power of 2. The sum over all is 1.
double tta_weight(tta_kind kind, int view);
// mirror-shift needs images of at least 2 × 2 pixels.
bool tta_fits(tta_kind kind, shape size);
// Writes a view of image `from` ([C][H][W]) to `to`; `scratch` has room for another image. The
// three do not overlap. The first view is the image itself.
void tta_make(tta_kind kind, int view, shape size, const uint8_t *from, uint8_t *scratch,
              uint8_t *to);

#endif
