// placement.h - a program cut into units, and where every activation of a group lives.
//
// units.h says what a unit is. Here dz replaces z in place.
#ifndef LOCKSTEP_COMPUTE_CPU_PLACEMENT_H
#define LOCKSTEP_COMPUTE_CPU_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "compute/cpu/kernels.h"
#include "compute/units.h"

// Where an activation lives in the memory of a group: offset in floats of element (0, 0, 0), and
// the strides.
typedef struct place {
    shape size;
    size_t offset, row, plane;
} place;

typedef struct unit {
    unit_layers layers;
    place x, z, y, dy, dx;            // x, dx: the previous unit's y and dy
    size_t winner;                    // pools, dropout: offset in bytes behind the floats
    bool winograd;                    // conv: by Winograd's algorithm
    int block, block_transposed;      // other conv: outputs in a packed block
    size_t packed, packed_transposed; // conv: offset in the arena of packed weights
} unit;

typedef struct placement {
    unit *units;
    int count;
    int lanes;                   // samples side by side in memory: the kernels'
    place input, input_gradient; // the gradient only where somebody wants it
    int norms;                   // units with batch norm
    size_t norm_channels;        // channels of all batch norms together
    size_t floats, bytes;        // memory of a group: floats, then bytes for winners
    size_t packed_floats;
    size_t scratch_floats; // of a thread: for weight gradients
} placement;

// Fails with STATUS_USAGE, naming the layer, when this backend cannot run the program.
// `receives`: the gradient of the input is wanted; `sends`: the program does not end in logits.
status placement_init(placement *p, const program *prog, const kernels *k, bool receives,
                      bool sends, error *err) MUST_CHECK;
void placement_release(placement *p);

// The place in the memory of a group that begins at `base`.
static inline view place_view(place p, float *base) {
    return (view){base + p.offset, p.size.channels, p.size.height, p.size.width, p.row, p.plane};
}

#endif
