// SPDX-License-Identifier: MIT
// The slices of a bucket.
#include "compute/cuda/plan/slices.h"

enum { FLOAT4 = 4 }; // slice lengths are multiples of it: reduce.cu

slices cuda_slices(size_t first, size_t end, int ranks) {
    const size_t each = (end - first + (size_t)ranks - 1) / (size_t)ranks;
    return (slices){first, end, (each + FLOAT4 - 1) / FLOAT4 * FLOAT4};
}

size_t cuda_slice(const slices *s, int q) {
    const size_t begin = s->first + (size_t)q * s->each;
    if (begin >= s->end) return 0;
    return s->end - begin < s->each ? s->end - begin : s->each;
}

size_t cuda_slice_unit(int ranks) {
    return (size_t)FLOAT4 * (size_t)ranks;
}

size_t cuda_slice_margin(int shards) {
    return 2 * cuda_slice_unit(shards);
}
