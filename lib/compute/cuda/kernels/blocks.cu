// SPDX-License-Identifier: MIT
// blocks.cu - activations in the format in which engines exchange them: blocks of GROUP samples,
// independent of the number of lanes of an engine.
//
// One thread per element written, in memory order. Lanes without a sample become zeros in both
// directions: data from another engine may hold anything there. A shard's activation has fewer than
// 2^32 elements, rounded up to whole groups.
#include "compute/cuda/kernels/device.cuh"

enum { BLOCK = 256 };

static __global__ void __launch_bounds__(BLOCK)
    import_blocks(cut c, blocks_task t, unsigned elements) {
    wait_for_kernels_before();
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x, lanes = (unsigned)c.lanes;
    if (at >= elements) return;
    const int shard = shard_of_block(c);
    const unsigned lane = at % lanes, feature = at / lanes;
    float v = 0;
    if ((int)lane < c.count[shard]) {
        const size_t group = (size_t)t.first_group[shard] + lane / GROUP;
        v = t.blocks[(group * t.features + feature) * GROUP + lane % GROUP];
    }
    t.activation[(size_t)shard * elements + at] = v;
}

static __global__ void __launch_bounds__(BLOCK)
    export_blocks(cut c, blocks_task t, unsigned elements) {
    wait_for_kernels_before();
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    if (at >= elements) return;
    const int shard = shard_of_block(c), count = c.count[shard];
    const unsigned block = (unsigned)t.features * GROUP, group = at / block;
    const unsigned feature = at % block / GROUP, lane = group * GROUP + at % GROUP;
    if ((int)(group * GROUP) >= count) return; // no such group in this step
    float v = 0;
    if ((int)lane < count)
        v = t.activation[((size_t)shard * t.features + feature) * (size_t)c.lanes + lane];
    t.blocks[(size_t)t.first_group[shard] * block + at] = v;
}

static dim3 grid_of(const cut *c, unsigned elements) {
    return dim3(blocks_for(elements, BLOCK), 1, (unsigned)(c->end - c->first));
}

void cuda_blocks_import(launch_stream s, const cut *c, const blocks_task *t) {
    if (c->first >= c->end) return;
    const unsigned elements = (unsigned)t->features * (unsigned)c->lanes;
    LAUNCH(import_blocks, grid_of(c, elements), BLOCK, s, *c, *t, elements);
}

void cuda_blocks_export(launch_stream s, const cut *c, const blocks_task *t) {
    if (c->first >= c->end) return;
    const unsigned groups = blocks_for((size_t)c->lanes, GROUP);
    const unsigned elements = groups * (unsigned)t->features * GROUP;
    LAUNCH(export_blocks, grid_of(c, elements), BLOCK, s, *c, *t, elements);
}
