// SPDX-License-Identifier: MIT
#include "compute/cpu/exchange.h"

#include <string.h>

// ---- Rows of GROUP samples, whatever an engine's own number of lanes ----

// Lanes that the source lacks become zero.
static void copy_rows(const float *from, size_t from_lanes, float *to, size_t to_lanes,
                      size_t rows) {
    if (from_lanes == to_lanes) {
        memcpy(to, from, rows * from_lanes * sizeof *to);
        return;
    }
    const size_t both = from_lanes < to_lanes ? from_lanes : to_lanes;
    for (; rows; rows--, from += from_lanes, to += to_lanes) {
        memcpy(to, from, both * sizeof *to);
        memset(to + both, 0, (to_lanes - both) * sizeof *to);
    }
}

// ---- Blocks ----

// A place may have a border; a block has none. Returns where a row of the place begins.
static float *row_of(const group_work *g, place p, int c, int y) {
    return group_memory(g, p) + p.offset + (size_t)c * p.plane + (size_t)y * p.row;
}

// Returns the index of a group's block among those of all groups.
static size_t block_of(const group_work *g, place p) {
    return (size_t)g->index * block_floats(p.size);
}

void exchange_receive(const group_work *g, place to) {
    const size_t width = (size_t)to.size.width, lanes = (size_t)g->e->kernels->lanes;
    const float *block = g->e->part.in + block_of(g, to);
    for (int c = 0; c < to.size.channels; c++)
        for (int y = 0; y < to.size.height; y++, block += width * GROUP)
            copy_rows(block, GROUP, row_of(g, to, c, y), lanes, width);
}

void exchange_send(const group_work *g, place from) {
    const size_t width = (size_t)from.size.width, lanes = (size_t)g->e->kernels->lanes;
    float *block = g->e->part.out + block_of(g, from);
    for (int c = 0; c < from.size.channels; c++)
        for (int y = 0; y < from.size.height; y++, block += width * GROUP)
            copy_rows(row_of(g, from, c, y), lanes, block, GROUP, width);
}

// ---- The loss ----

void exchange_loss(const execution *e, const batch *whole, float *logits, float *losses) {
    const sample_target *targets = whole->targets;
    const kernels *k = kernels_find(e->kernels->isa, GROUP);
    for (int v = 0; v < whole->shards; v++)
        for (int done = 0; done < whole->count[v]; done += GROUP) {
            const int left = whole->count[v] - done, samples = left < GROUP ? left : GROUP;
            const loss_task t = {.classes = e->program->classes,
                                 .samples = samples,
                                 .smoothing = e->options.label_smoothing,
                                 .logits = logits,
                                 .targets = targets};
            *losses++ = k->loss(&t);
            logits += (size_t)e->program->classes * GROUP;
            targets += samples;
        }
}
