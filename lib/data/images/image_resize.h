// image_resize.h - pictures of any size as squares of N x N, with the same bytes on every machine.
//
// The shorter side becomes N, the longer one N · longer / shorter, rounded down.
// Each output pixel is the weighted mean of the input pixels under a triangle around its centre
// ("bilinear, antialiased", as Pillow and torchvision name it): of half-width 1 pixel where the
// picture grows, and of `scale` pixels where it shrinks by `scale`. First along rows, then along
// columns; each mean is exact and rounded to a byte, halves up. All of it is integers. A picture
// whose shorter side is N keeps its pixels.
//
// The crop is the middle of it: the first column is (width - N) / 2, rounded down, and so is the
// first row.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_RESIZE_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_RESIZE_H

#include "data/images/image.h"

enum { IMAGE_RESIZE_MAX = 1024 };

// Writes the square [channels][size][size] of a picture, turned upright by its orientation, which
// is done last, to the square. `size`: 1 to IMAGE_RESIZE_MAX.
status image_square(const image *i, int size, uint8_t *planes, error *err) MUST_CHECK;

#endif
