// SPDX-License-Identifier: MIT
// take.h - memory that an engine holds, and its count.
#ifndef LOCKSTEP_COMPUTE_CPU_TAKE_H
#define LOCKSTEP_COMPUTE_CPU_TAKE_H

#include "base/memory.h"

static inline void *take(size_t *taken, size_t count, size_t size, error *err) {
    *taken += count * size;
    return memory_try_new_aligned(count, size, err);
}

// Takes zeroed memory for `count` elements, and adds its bytes to `taken`, a size_t *; or returns
// STATUS_FAILED, with `err` filled. For free().
#define TAKE(pointer, count)                                      \
    do {                                                          \
        (pointer) = take(taken, (count), sizeof *(pointer), err); \
        if (!(pointer)) return STATUS_FAILED;                     \
    } while (0)

#endif
