// SPDX-License-Identifier: MIT
// dropout.cu - dropout, with the numbers of base/random.h: the dropped values depend on seed,
// layer, epoch, sample and feature alone, and equal those of the CPU.
//
// A thread takes four features of one sample, one Philox block; neighbouring threads take the same
// features of the next samples.
#include "base/random.h"
#include "compute/cuda/kernels/device.cuh"

enum { BLOCK = 128, FEATURES = 4 };

typedef struct dropout_task {
    size_t features;
    uint64_t seed; // of the layer
    uint32_t threshold;
    float factor;
    const uint32_t *ids;
    const step_numbers *numbers;
    const float *from; // x, or dy
    float *to;         // y, or dx
} dropout_task;

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

// ---- Whole channels, whole samples ----

// A thread takes up to POSITIONS values of one part and one sample, for which it draws once.
enum { POSITIONS = 16 };

typedef struct parts_task {
    dropout_task t;
    unsigned parts, size; // of a sample; values of each
    bool by_shard;        // the draw is that of the shard's first sample
} parts_task;

static __global__ void __launch_bounds__(BLOCK) drop_parts(cut c, parts_task p, unsigned pieces) {
    const unsigned at = blockIdx.x * BLOCK + threadIdx.x, lanes = (unsigned)c.lanes;
    const unsigned each = (p.size + POSITIONS - 1) / POSITIONS, lane = at % lanes;
    const unsigned part = at / lanes / each, first = at / lanes % each * POSITIONS;
    const unsigned end = first + POSITIONS < p.size ? first + POSITIONS : p.size;
    const piece draw = {(size_t)shard_of_block(c), part, p.by_shard ? 0 : lane};
    const size_t begin = draw.shard * p.t.features + (size_t)part * p.size;
    compute_early(begin);
    wait_for_kernels_before();
    if (at >= pieces) return;
    const random_stream stream = stream_of(c, p.t, draw);
    const bool kept = random_bits(&stream, part) >> 8 >= p.t.threshold;
    for (unsigned i = first; i < end; i++) {
        const size_t k = (begin + i) * lanes + lane;
        p.t.to[k] = kept ? p.t.factor * p.t.from[k] : 0.0f;
    }
}

// ---- Launches ----

static void launch_parts(launch_stream s, const cut *c, const layer *l, const dropout_task &t) {
    const unsigned parts = (unsigned)dropped_parts(layer_traits_of(l)->drops, l->in);
    const parts_task p = {t, parts, (unsigned)(t.features / parts), l->by_shard};
    const unsigned pieces = parts * ((p.size + POSITIONS - 1) / POSITIONS) * (unsigned)c->lanes;
    LAUNCH(drop_parts, dim3(blocks_for(pieces, BLOCK), 1, (unsigned)(c->end - c->first)), BLOCK, s,
           *c, p, pieces);
}

// In inference nothing is dropped.
static void launch(launch_stream s, const cut *c, const cuda_layer_task *l, const float *from,
                   float *to) {
    if (c->first >= c->end) return;
    const size_t shards = (size_t)(c->end - c->first), lanes = (size_t)c->lanes;
    const size_t features = shape_size(l->l->in);
    const uint32_t threshold = layer_drop_threshold(l->l);
    if (!l->ids || threshold == 0) {
        const size_t floats = features * lanes, first = (size_t)c->first * floats;
        (void)cudaMemcpyAsync(to + first, from + first, shards * floats * sizeof *to,
                              cudaMemcpyDeviceToDevice, s.stream);
        launch_after_other(s);
        return;
    }
    const dropout_task t = {features,  layer_seed(l->l, l->seed),
                            threshold, layer_keep_factor(l->l),
                            l->ids,    l->numbers,
                            from,      to};
    if (layer_traits_of(l->l)->drops != DROPS_VALUES) {
        launch_parts(s, c, l->l, t);
        return;
    }
    const unsigned pieces = (unsigned)((features + FEATURES - 1) / FEATURES * lanes);
    LAUNCH(dropout, dim3(blocks_for(pieces, BLOCK), 1, (unsigned)shards), BLOCK, s, *c, t, pieces);
}

void cuda_dropout(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->x, t->y);
}

// Draws the same random numbers again: no state is kept between the two directions.
void cuda_dropout_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->dy, t->dx);
}

void cuda_dropout2d(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->x, t->y);
}

void cuda_dropout2d_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->dy, t->dx);
}

void cuda_stochastic_depth(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->x, t->y);
}

void cuda_stochastic_depth_backward(launch_stream s, const cut *c, const cuda_layer_task *t) {
    launch(s, c, t, t->dy, t->dx);
}
