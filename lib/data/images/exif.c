// SPDX-License-Identifier: MIT
#include "data/images/exif.h"

#include <stdbool.h>
#include <string.h>

enum { HEADER = 6, ENTRY = 12, ORIENTATION = 0x0112, SHORT = 3, UPRIGHT = 1 };

typedef struct tiff {
    const uint8_t *data;
    size_t bytes;
    bool big; // endian
} tiff;

// Returns `width` bytes at `at` as a number; 0 outside the data.
static uint32_t number_at(const tiff *t, uint64_t at, int width) {
    uint32_t value = 0;
    if (at + (uint64_t)width > t->bytes) return 0;
    for (int k = 0; k < width; k++)
        value |= (uint32_t)t->data[at + (uint64_t)k] << 8 * (t->big ? width - 1 - k : k);
    return value;
}

int exif_orientation(const uint8_t *data, size_t bytes) {
    if (bytes < HEADER + 8 || memcmp(data, "Exif\0\0", HEADER) != 0) return UPRIGHT;
    const tiff t = {data + HEADER, bytes - HEADER, data[HEADER] == 'M'};
    const uint64_t first = number_at(&t, 4, 4);
    const uint32_t entries = number_at(&t, first, 2);
    for (uint32_t k = 0; k < entries; k++) {
        const uint64_t at = first + 2 + (uint64_t)ENTRY * k;
        if (number_at(&t, at, 2) != ORIENTATION || number_at(&t, at + 2, 2) != SHORT) continue;
        const uint32_t value = number_at(&t, at + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : UPRIGHT;
    }
    return UPRIGHT;
}
