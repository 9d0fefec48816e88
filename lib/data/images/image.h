// SPDX-License-Identifier: MIT
// image.h - pictures in memory, read from JPEG and PNG files.
//
// A file's first bytes decide its format, not its name. A picture has one byte per channel:
//
// | a file's pixels | become |
// |---|---|
// | 16 bits | 8 bits: v · 255 / 65535, rounded |
// | 1, 2 or 4 bits, palette | 8 bits, colours |
// | transparency | blended over white |
// | CMYK, YCCK (JPEG) | R = (255 - C)(255 - K) / 255, rounded, and so on: no colour profile |
// | colours, if grey is asked for | (19595 R + 38470 G + 7471 B + 32768) / 65536, as Pillow's "L" |
// | grey, if colours are asked for | R = G = B |
//
// Colour profiles and gamma are not applied. JPEG is decoded by libjpeg-turbo with the accurate
// integer transform and smooth chroma upsampling, which give the same bytes on every machine.
// Refused: other formats, sides above IMAGE_MAX_SIDE, more than IMAGE_MAX_PIXELS, files above
// IMAGE_MAX_FILE, JPEG of 12 bits or of more than 500 scans, and truncated or damaged data. A fault
// that costs no pixels, such as a wrong colour profile or bytes after the end, is noted.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    IMAGE_MAX_SIDE = 1 << 14,
    IMAGE_MAX_PIXELS = 1 << 26,
    IMAGE_MAX_FILE = 1 << 28,
    IMAGE_FAULT = 200
};

typedef struct image {
    int width, height, channels; // channels: 1 or 3
    int orientation;             // EXIF orientation, 1 to 8, not yet applied; 1: upright
    uint8_t *pixels;             // [height][width][channels]
    char fault[IMAGE_FAULT];     // the first fault of the file that costs no pixels; "": none
} image;

// Reads a file as `channels` (1 or 3) channels. STATUS_INPUT: the reason, without the file's name,
// which the caller adds; STATUS_FAILED: out of memory. Call image_release in any case.
status image_read_file(const char *path, int channels, image *i, error *err) MUST_CHECK;
// The same for a file in memory.
status image_read(const uint8_t *file, size_t bytes, int channels, image *i, error *err) MUST_CHECK;
void image_release(image *i);
// Writes the picture as a PNG file in memory; free() *file.
status image_encode_png(const image *i, uint8_t **file, size_t *bytes, error *err) MUST_CHECK;

// For the decoders. Both return STATUS_INPUT if a size is out of bounds; image_allocate also
// allocates the pixels.
status image_check_size(uint32_t width, uint32_t height, error *err) MUST_CHECK;
status image_allocate(image *i, uint32_t width, uint32_t height, int channels,
                      error *err) MUST_CHECK;
// Notes a fault, unless there is one already.
void image_note_fault(image *i, const char *format, ...) PRINTF_LIKE(2, 3);
// Converts the picture to `channels` channels.
status image_convert(image *i, int channels, error *err) MUST_CHECK;

// Return the versions of the decoding libraries: "2.1.5", "1.6.39".
const char *image_jpeg_version(void);
const char *image_png_version(void);

#endif
