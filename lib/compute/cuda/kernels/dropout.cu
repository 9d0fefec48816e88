// SPDX-License-Identifier: MIT
// dropout.cu - dropout, with the numbers of base/random.h: the dropped values depend on seed,
// layer, epoch, sample and feature alone, and equal those of the CPU.
//
// A thread takes four features of one sample, one Philox block; neighbouring threads take the same
// features of the next samples.
#include "base/random.h"
#include "compute/cuda/kernels/device.cuh"

enum { BLOCK = 128, FEATURES = 4 };

// Features of a sample: [first, first + FEATURES), but below `features`; feature f is at f · lanes
// + lane of the shard.
typedef struct piece {
    size_t shard, first;
    unsigned lane;
} piece;

static __device__ random_stream stream_of(const cut &c, const dropout_task &t, const piece &p) {
    random_stream s;
    s.seed = t.seed;
    s.purpose = RANDOM_DROPOUT;
    s.layer = 0;
    s.epoch = t.numbers->epoch;
    s.sample = t.ids[p.shard * (size_t)c.lanes + p.lane];
    return s;
}

static __device__ void drop(const cut &c, const dropout_task &t, const piece &p) {
    const size_t lanes = (size_t)c.lanes;
    const size_t at = (p.shard * t.features + p.first) * lanes + p.lane;
    // Reads all before the first write: the compiler cannot exclude that `to` overlaps `from`.
    float x[FEATURES];
    for (unsigned i = 0; i < FEATURES; i++)
        x[i] = p.first + i < t.features ? t.from[at + i * lanes] : 0.0f;
    uint32_t bits[FEATURES];
    const random_stream stream = stream_of(c, t, p);
    random_block(&stream, (uint32_t)(p.first / FEATURES), bits);
    for (unsigned i = 0; i < FEATURES; i++)
        if (p.first + i < t.features)
            t.to[at + i * lanes] = bits[i] >> 8 >= t.threshold ? t.factor * x[i] : 0.0f;
}

static __global__ void __launch_bounds__(BLOCK) dropout(cut c, dropout_task t, unsigned pieces) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x, lanes = (unsigned)c.lanes;
    piece p;
    p.shard = (size_t)shard_of_block(c);
    p.first = (size_t)(at / lanes) * FEATURES;
    p.lane = at % lanes;
    compute_early(p.lane);
    wait_for_kernels_before();
    if (at >= pieces) return;
    drop(c, t, p);
}

void cuda_dropout(launch_stream s, const cut *c, const dropout_task *t) {
    if (c->first >= c->end) return;
    const size_t shards = (size_t)(c->end - c->first), lanes = (size_t)c->lanes;
    if (t->threshold == 0) {
        const size_t floats = t->features * lanes, first = (size_t)c->first * floats;
        (void)cudaMemcpyAsync(t->to + first, t->from + first, shards * floats * sizeof *t->to,
                              cudaMemcpyDeviceToDevice, s.stream);
        launch_after_other(s);
        return;
    }
    const unsigned pieces = (unsigned)((t->features + FEATURES - 1) / FEATURES * lanes);
    LAUNCH(dropout, dim3(blocks_for(pieces, BLOCK), 1, (unsigned)shards), BLOCK, s, *c, *t, pieces);
}
