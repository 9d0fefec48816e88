// SPDX-License-Identifier: MIT
// Engines exchange activations in rows of GROUP samples, whatever their own number of lanes.
#include <string.h>

#include "compute/cpu/engine.h"

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

void lanes_import(const engine *e, const float *block, float *memory, size_t rows) {
    copy_rows(block, GROUP, memory, (size_t)e->kernels->lanes, rows);
}

void lanes_export(const engine *e, const float *memory, float *block, size_t rows) {
    copy_rows(memory, (size_t)e->kernels->lanes, block, GROUP, rows);
}
