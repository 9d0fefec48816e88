// SPDX-License-Identifier: MIT
// target.h - the class that a sample's logits are compared with; after mixup, two of them.
#ifndef LOCKSTEP_COMPUTE_TARGET_H
#define LOCKSTEP_COMPUTE_TARGET_H

#include <stdint.h>

// The loss is (1 - share) · the cross-entropy of `label` + share · that of `other`.
typedef struct sample_target {
    uint32_t label, other; // classes
    float share;           // 0 … 1; 0: `other` has no effect
} sample_target;

#endif
