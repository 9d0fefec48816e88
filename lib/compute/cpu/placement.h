// SPDX-License-Identifier: MIT
// placement.h - a program's units, and the place of every activation of a group in memory.
//
// units.h defines units. Here dz replaces z in place. Values that are not in use at the same time
// share memory (plan/lifetimes.h): the gradients with each other, and with values of later units,
// whose backward pass is over. Values that need zeros around them come first: their memory is not
// shared, so that the zeros stay.
//
// With batch norm, a step keeps the values of all its groups. A y that only the next convolution or
// linear layer reads is not kept: its epilogue runs again before the weight gradient of that layer,
// into the memory of the thread.
#ifndef LOCKSTEP_COMPUTE_CPU_PLACEMENT_H
#define LOCKSTEP_COMPUTE_CPU_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "compute/cpu/kernels.h"
#include "compute/plan/units.h"

// Memory that a place is in.
typedef enum place_home {
    IN_GROUP,
    IN_VALUES, // a thread's: values that are computed again
    IN_IMAGES, // the group's, or a thread's if each thread of a crew loads the images for itself
} place_home;

// The place of an activation: offset in floats of element (0, 0, 0), and the strides.
typedef struct place {
    shape size;
    size_t offset, row, plane;
    place_home home;
} place;

typedef struct unit {
    const unit_layers *layers;
    place x, z, y, dy, dx;                      // x, dx: the y and dy of its source
    place second, second_dx;                    // sum: likewise, of its second source
    size_t choices;                             // max pool, dropout: offset in bytes after floats
    bool winograd;                              // conv: by Winograd's algorithm
    int block, block_transposed;                // other conv: outputs in a packed block
    size_t packed, packed_transposed;           // likewise: offset in the arena of packed weights
    size_t packed_part, packed_transposed_part; // likewise: floats of a part, with groups
} unit;

typedef struct placement {
    unit_list list;
    unit *units;  // list.count of them
    int *borders; // zero columns around each y, if it lies by itself; first, the input
    int lanes;    // samples side by side in memory, as in the kernels
    place input, input_gradient; // the gradient only if it is needed
    size_t floats, bytes;        // memory of a group: floats, then bytes for choices
    size_t image_floats;         // those of the input, which come first
    // A group is finished before the next one begins: all groups of a thread share one memory.
    bool shares_slots;
    size_t packed_floats;
    size_t scratch_floats; // per thread: for weight gradients and Winograd's algorithm
} placement;

// Cuts a program into units and decides how they run (backend.h). Neither the instruction set nor
// the lanes have an effect.
status placement_units(const program *p, const engine_options *o, unit_list *list,
                       error *err) MUST_CHECK;

// Fails as placement_units does.
status placement_init(placement *p, const program *prog, const kernels *k, const engine_options *o,
                      error *err) MUST_CHECK;
void placement_release(placement *p);

// Return the floats that an operation on a group of this unit needs in the memory of the thread:
// for a y that is computed again; for the gradient of x before it is added to another one. 0: none.
size_t placement_values(const placement *p, const unit *u);
size_t placement_added(const placement *p, const unit *u);

// Returns the view of a place in the memory that begins at `base`.
static inline view place_view(place p, float *base) {
    return (view){base + p.offset, p.size.channels, p.size.height, p.size.width, p.row, p.plane};
}

#endif
