// SPDX-License-Identifier: MIT
#include "data/images/image.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

status image_check_size(uint32_t width, uint32_t height, error *err) {
    if (!width || !height || width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE ||
        (uint64_t)width * height > IMAGE_MAX_PIXELS)
        return error_set(err, STATUS_INPUT,
                         "%u x %u pixels: supported are sides of 1 to %d and at most %d pixels",
                         width, height, IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS);
    return STATUS_OK;
}

status image_allocate(image *i, uint32_t width, uint32_t height, int channels, error *err) {
    const status rc = image_check_size(width, height, err);
    if (rc != STATUS_OK) return rc;
    i->width = (int)width;
    i->height = (int)height;
    i->channels = channels;
    i->pixels = memory_try_new((size_t)width * height, (size_t)channels, err);
    return i->pixels ? STATUS_OK : STATUS_FAILED;
}

void image_release(image *i) {
    free(i->pixels);
    *i = (image){0};
}

void image_note_fault(image *i, const char *format, ...) {
    va_list list;
    if (*i->fault) return;
    va_start(list, format);
    vsnprintf(i->fault, sizeof i->fault, format, list);
    va_end(list);
}

// ---- Channels ----

static uint8_t grey_of(const uint8_t *rgb) {
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

status image_convert(image *i, int channels, error *err) {
    if (channels == i->channels) return STATUS_OK;
    const size_t pixels = (size_t)i->width * (size_t)i->height;
    uint8_t *to = memory_try_new(pixels, (size_t)channels, err);
    if (!to) return STATUS_FAILED;
    for (size_t k = 0; k < pixels; k++)
        if (channels == 1)
            to[k] = grey_of(i->pixels + 3 * k);
        else
            memset(to + 3 * k, i->pixels[k], 3);
    free(i->pixels);
    i->pixels = to;
    i->channels = channels;
    return STATUS_OK;
}
