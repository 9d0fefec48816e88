// plan.h - a program cut into units, and where every activation of a group lives.
//
// A *unit* is a convolution, a linear layer, or nothing, and the cheap layers behind it that one
// pass can do with it: batch norm, ReLU, 2×2 max pooling (its *tail*). Any other pooling, and
// dropout, is a unit of its own. Flatten costs nothing in this layout.
//
//        x ──core──► z ──tail──► y      x: the previous unit's y, or the input
//       dx ◄──────── dz ◄─────── dy     dz replaces z in place
#ifndef LOCKSTEP_COMPUTE_CPU_PLAN_H
#define LOCKSTEP_COMPUTE_CPU_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "compute/cpu/kernels.h"

// Where an activation lives in the memory of a group: offset in floats of element (0, 0, 0), and
// the strides.
typedef struct place {
    shape size;
    size_t offset, row, plane;
} place;

typedef struct unit {
    const layer *core;           // conv or linear; NULL: z is a copy of x
    const layer *norm;           // batch norm; NULL: none
    bool relu, pool;             // pool: 2×2
    const layer *alone;          // pooling, dropout; then core and norm are NULL and there is no z
    bool first;                  // no input gradient is wanted
    bool last;                   // the logits: no tail, z is where the loss puts its gradient
    place x, z, y, dy, dx;       // x, dx: the previous unit's y and dy
    size_t winner;               // pools, dropout: offset in bytes behind the floats
    bool winograd;               // conv: by Winograd's algorithm
    int block, block_transposed; // other conv: outputs in a packed block
    size_t packed, packed_transposed; // conv: offset in the arena of packed weights
    int norm_index;                   // which batch norm, from 0
    size_t norm_channel;              // channels of the batch norms before
} unit;

typedef struct plan {
    unit *units;
    int count;
    int lanes;                   // samples side by side in memory: the kernels'
    place input, input_gradient; // the gradient only where somebody wants it
    int norms;                   // units with batch norm
    size_t norm_channels;        // channels of all batch norms together
    size_t floats, bytes;        // memory of a group: floats, then bytes for winners
    size_t packed_floats;
    size_t scratch_floats; // of a thread: for weight gradients
} plan;

// Fails with STATUS_USAGE, naming the layer, when this backend cannot run the program.
// `receives`: the gradient of the input is wanted; `sends`: the program does not end in logits.
status plan_init(plan *p, const program *prog, const kernels *k, bool receives, bool sends,
                 error *err) MUST_CHECK;
void plan_release(plan *p);

// The place in the memory of a group that begins at `base`.
static inline view place_view(place p, float *base) {
    return (view){base + p.offset, p.size.channels, p.size.height, p.size.width, p.row, p.plane};
}

#endif
