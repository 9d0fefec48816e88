// SPDX-License-Identifier: MIT
// image_decoders.h - one function per format, each in the one file that includes its library.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_DECODERS_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_DECODERS_H

#include "data/images/image.h"

// As image_read, but with 1 or 3 channels as in the file.
status image_decode_jpeg(const uint8_t *file, size_t bytes, image *i, error *err) MUST_CHECK;
status image_decode_png(const uint8_t *file, size_t bytes, image *i, error *err) MUST_CHECK;

// Returns the orientation, 1 to 8, in the content of a JPEG's APP1 marker, its EXIF data; 1 if it
// is missing or invalid.
int image_exif_orientation(const uint8_t *data, size_t bytes);

#endif
