// SPDX-License-Identifier: MIT
#include "data/source/overlap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct hashed {
    uint64_t hash;
    const uint8_t *image;
} hashed;

// Images of equal hash are compared, so that this only has to be fast.
static uint64_t hash_of(const uint8_t *image, size_t bytes) {
    uint64_t hash = bytes, word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        const size_t left = bytes - at;
        word = 0;
        memcpy(&word, image + at, left < sizeof word ? left : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static int by_hash(const void *a, const void *b) {
    const hashed *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool is_among(const hashed *sorted, size_t count, const hashed *one, size_t bytes) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle].hash < one->hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && sorted[low].hash == one->hash; low++)
        if (memcmp(sorted[low].image, one->image, bytes) == 0) return true;
    return false;
}

status overlap_count(const raw_dataset *r, uint32_t *count, error *err) {
    const raw_split *train = &r->splits[RAW_TRAIN], *test = &r->splits[RAW_TEST];
    const size_t bytes = raw_dataset_image_bytes(r);
    hashed *sorted = memory_try_new(train->samples, sizeof *sorted, err);
    *count = 0;
    if (!sorted) return STATUS_FAILED;
    for (uint32_t i = 0; i < train->samples; i++) {
        const uint8_t *image = train->images + (size_t)i * bytes;
        sorted[i] = (hashed){hash_of(image, bytes), image};
    }
    qsort(sorted, train->samples, sizeof *sorted, by_hash);
    for (uint32_t i = 0; i < test->samples; i++) {
        const uint8_t *image = test->images + (size_t)i * bytes;
        const hashed one = {hash_of(image, bytes), image};
        *count += is_among(sorted, train->samples, &one, bytes);
    }
    free(sorted);
    return STATUS_OK;
}
