// SPDX-License-Identifier: MIT
// augment.h - augmentation of images in the host's memory: passes over whole images.
// compute/augmentation.h defines where each pixel comes from, and why.
#ifndef LOCKSTEP_DATA_AUGMENT_H
#define LOCKSTEP_DATA_AUGMENT_H

#include <stdint.h>

#include "compute/augmentation.h"

// Writes sample `from` ([C][H][W]), augmented, to `to`; `scratch` has room for a second image. The
// three do not overlap. An empty list copies.
void augment_sample(const augment_list *list, const augment_key *key, shape size,
                    const uint8_t *from, uint8_t *scratch, uint8_t *to);

// Does an entry depend on all pixels of an image, as the contrast of a color jitter does? Then
// devices, which compute pixel by pixel, leave the list to the host.
bool augment_needs_host(const augment_list *list);

// Copies the rows and columns that begin at (top - padding, left - padding). The size stays the
// same.
void image_crop(shape size, int padding, crop_choice c, const uint8_t *from, uint8_t *to);
// The same, with pixels outside the image mirrored at its border; padding < height, width.
void image_crop_reflect(shape size, int padding, crop_choice c, const uint8_t *from, uint8_t *to);
void image_flip(shape size, const uint8_t *from, uint8_t *to);
// torchvision.transforms.functional.affine(image, angle, (right, down), scale, shear=0, nearest).
void image_affine(shape size, affine_choice c, const uint8_t *from, uint8_t *to);
// torchvision.transforms.functional.resized_crop to the size of the image, bilinear.
void image_resized_crop(shape size, resized_crop_choice c, const uint8_t *from, uint8_t *to);
// Copies, but fills the part of a square of `side` pixels that is inside the image with
// fill[channel].
void image_cutout(shape size, int side, cutout_choice c, const uint8_t *fill, const uint8_t *from,
                  uint8_t *to);

#endif
