// SPDX-License-Identifier: MIT
// A step's shards: from a batch's counts to the tree.
#include "compute/cuda/plan/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

status cuda_shards_open(step_shards *s, int count, int local, size_t *most, error *err) {
    s->count = count;
    s->leaves = memory_new((size_t)count + 1, sizeof *s->leaves);
    s->full = memory_new((size_t)count, sizeof *s->full);
    s->samples = memory_new((size_t)count, sizeof *s->samples);
    for (int v = 0; v < count; v++) s->full[v] = 1;
    NEED(reduction_tree_init(&s->tree, s->full, count, err));
    *most = local == count ? 1 : 2 * (size_t)s->tree.depth;
    reduction_tree_release(&s->tree);
    return STATUS_OK;
}

void cuda_shards_close(step_shards *s) {
    reduction_tree_release(&s->tree);
    free(s->leaves);
    free(s->full);
    free(s->samples);
}

static bool same_counts(const step_shards *s, const batch *b) {
    return s->tree.nodes && b->first_shard == s->first && b->end_shard == s->end &&
           memcmp(s->samples, b->count, (size_t)b->shards * sizeof *b->count) == 0;
}

// One leaf per shard; a shard without a sample has none.
static status make_tree(step_shards *s, const batch *b, error *err) {
    int leaves = 0;
    for (int v = 0; v < b->shards; v++) {
        s->leaves[v] = leaves;
        s->full[v] = b->count[v] > 0;
        leaves += s->full[v];
    }
    s->leaves[b->shards] = leaves;
    reduction_tree_release(&s->tree);
    return reduction_tree_init(&s->tree, s->full, b->shards, err);
}

status cuda_shards_fit(step_shards *s, const batch *b, bool *resized, error *err) {
    *resized = false;
    if (!same_counts(s, b)) {
        const status rc = make_tree(s, b, err);
        if (rc != STATUS_OK) return rc;
        memcpy(s->samples, b->count, (size_t)b->shards * sizeof *b->count);
        *resized = b->end_shard - b->first_shard != cuda_own_shards(s);
        s->first = b->first_shard;
        s->end = b->end_shard;
    }
    s->run_first = 0;
    s->run_end = cuda_own_shards(s);
    s->cover_count =
        reduction_tree_cover(&s->tree, s->leaves[s->first], s->leaves[s->end], s->cover);
    return STATUS_OK;
}

// ---- Slices ----

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
