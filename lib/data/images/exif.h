// SPDX-License-Identifier: MIT
// exif.h - the orientation in a picture's EXIF data; nothing else of it is read.
#ifndef LOCKSTEP_DATA_IMAGES_EXIF_H
#define LOCKSTEP_DATA_IMAGES_EXIF_H

#include <stddef.h>
#include <stdint.h>

// Returns the orientation, 1 to 8, in the content of a JPEG's APP1 marker; 1 if it is missing or
// invalid.
int exif_orientation(const uint8_t *data, size_t bytes);

#endif
