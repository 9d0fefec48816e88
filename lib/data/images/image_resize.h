// SPDX-License-Identifier: MIT
// image_resize.h - pictures of any size as squares of N x N, with the same bytes on every machine.
//
// The shorter side becomes N, the longer one N · longer / shorter, rounded down. Each output pixel
// is the weighted mean of the input pixels under a triangle around its centre ("bilinear,
// antialiased" in Pillow and torchvision). The triangle's half-width is 1 pixel when enlarging, and
// `scale` pixels when shrinking by `scale`. Rows come first, then columns; each mean is exact and
// rounded to a byte, halves up. All arithmetic is in integers. A picture whose shorter side is N
// keeps its pixels.
//
// The square is cropped from the middle: its first column is (width - N) / 2, rounded down, and
// likewise its first row.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_RESIZE_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_RESIZE_H

#include "data/images/image.h"

enum { IMAGE_RESIZE_MAX = 1024 };

// Writes a picture's square [channels][size][size], turned upright by its orientation after
// resizing and cropping. `size`: 1 to IMAGE_RESIZE_MAX.
status image_square(const image *i, int size, uint8_t *planes, error *err) MUST_CHECK;

#endif
