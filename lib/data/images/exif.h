// exif.h - the one thing that is read of a picture's EXIF data: which way up it is.
#ifndef LOCKSTEP_DATA_IMAGES_EXIF_H
#define LOCKSTEP_DATA_IMAGES_EXIF_H

#include <stddef.h>
#include <stdint.h>

// The orientation, 1 to 8, in the content of a JPEG's APP1 marker; 1 where there is none, or it
// makes no sense.
int exif_orientation(const uint8_t *data, size_t bytes);

#endif
