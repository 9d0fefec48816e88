// SPDX-License-Identifier: MIT
// mixup.h - mixup (Zhang et al., arXiv 1710.09412): each training image is blended with another
// one, and its loss is the same mixture of the losses of both labels.
//
// As in torchvision's v2.MixUp, the other image is the preceding one of the batch, and that of the
// first is the last. The batch is a shard's part of a step, which DistributedDataParallel would
// give to a rank; a shard of one sample stays as it is. Each image is augmented before. As in
// timm's mode "elem", each sample has a share of its own, keyed by (seed, epoch, sample id), so any
// number of loader workers, ranks and restarts gives the same pixels. Shares are multiples of
// 2^-16, and a blended pixel is the nearest byte, half up: integers, equal on all processors.
#ifndef LOCKSTEP_DATA_MIXUP_H
#define LOCKSTEP_DATA_MIXUP_H

#include <stddef.h>
#include <stdint.h>

#include "compute/augmentation.h"

enum { MIXUP_ONE = 1 << 16 };
// The largest alpha: with larger ones, nearly all tries of Jöhnk's method fail.
#define MIXUP_MOST 4.0

// Returns the other image's share of a sample, in units of 1 / MIXUP_ONE: Beta(alpha, alpha),
// rounded. Jöhnk's method (Metrika 8, 1964): x = u^(1/alpha) and y = v^(1/alpha) for uniform u and
// v, drawn again until x + y ≤ 1; the result is x / (x + y). Elements 2k and 2k + 1 of the stream
// (RANDOM_MIXUP) are u and v of try k.
uint32_t mixup_share(double alpha, const augment_key *key);

// Replaces each byte of `image` by (1 - share) · it + share · that of `other`.
void mixup_blend(uint32_t share, size_t bytes, const uint8_t *other, uint8_t *image);

// The samples of one shard in one step.
typedef struct mixup_shard {
    double alpha;
    uint64_t seed;
    uint32_t epoch;
    int count;
    size_t bytes;           // of an image
    const uint32_t *ids;    // [count]
    uint8_t *images;        // [count][bytes]: blended in place
    sample_target *targets; // [count]: the labels are set
    uint8_t *scratch;       // [bytes]
} mixup_shard;
void mixup_apply(const mixup_shard *s);

#endif
