// SPDX-License-Identifier: MIT
// random.h - counter-based random numbers: Philox4x32-10.
//
// There is no generator state. A number is a pure function of (seed, purpose, place of use), so any
// thread, process or restart that asks for the same number gets the same number, in any order, on a
// processor or on a CUDA device. philox.h has the function itself.
#ifndef LOCKSTEP_BASE_RANDOM_H
#define LOCKSTEP_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/philox.h"

// The purpose of a stream; part of the counter, so that streams never overlap. Equal bits depend on
// the values: never renumber, only append.
typedef enum random_purpose {
    RANDOM_INIT = 1,      // initial weights: element = index in the tensor (key: the layer's seed)
    RANDOM_PARTITION = 2, // which samples a shard has (key: shard_seed)
    RANDOM_ORDER = 3,     // order of a shard in an epoch: layer = shard
    RANDOM_DROPOUT = 4,   // epoch, sample id, element = feature (key: the layer's seed)
    RANDOM_CROP = 5,
    RANDOM_FLIP = 6,
    RANDOM_AFFINE = 7,
    RANDOM_SYNTHETIC = 8, // drawn images: sample = index of the image
    RANDOM_TRIAL = 9,     // noise and labels of calibrations
    RANDOM_CUTOUT = 16,
    RANDOM_VALIDATION = 17, // samples left out of training: sample id (key: validation.seed)
    RANDOM_MIXUP = 18,      // shares of blended images: epoch, sample id
    RANDOM_RESIZED_CROP = 19,
    RANDOM_COLOR_JITTER = 20,
} random_purpose;

// Identifies one stream of numbers.
typedef struct random_stream {
    uint64_t seed;
    random_purpose purpose;
    uint32_t layer; // below 2^24
    uint32_t epoch;
    uint32_t sample;
} random_stream;

// Writes the four numbers of draw `draw`: elements 4·draw … 4·draw+3 of the stream.
HOST_DEVICE static inline void random_block(const random_stream *s, uint32_t draw,
                                            uint32_t out[4]) {
    out[0] = (uint32_t)s->purpose << 24 | (s->layer & 0xffffffu);
    out[1] = s->epoch;
    out[2] = s->sample;
    out[3] = draw;
    philox4x32(s->seed, out);
}

// Returns element `element` of the stream, as 32 random bits.
HOST_DEVICE static inline uint32_t random_bits(const random_stream *s, uint64_t element) {
    uint32_t block[4];
    random_block(s, (uint32_t)(element / 4), block);
    return block[element % 4];
}

// Returns a number uniform in [0, 1), of 24 bits: exact in a float.
HOST_DEVICE static inline float random_uniform(const random_stream *s, uint64_t element) {
    return (float)(random_bits(s, element) >> 8) * 0x1p-24f;
}

// Returns an integer uniform in [0, n); n ≥ 1. Biased by less than n / 2^32.
HOST_DEVICE static inline uint32_t random_below(const random_stream *s, uint64_t element,
                                                uint32_t n) {
    return (uint32_t)((uint64_t)random_bits(s, element) * n >> 32);
}

// Fills order[0 … n) with a random permutation of 0 … n-1: Fisher–Yates downward, element n-1-i for
// place i. For the host.
void random_permutation(const random_stream *s, uint32_t *order, uint32_t n);

#endif
