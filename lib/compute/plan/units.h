// SPDX-License-Identifier: MIT
// units.h - a program cut into units, the pieces that a backend runs as one.
//
// A *unit* is a convolution, a linear layer or nothing (its *anchor*), with the cheap layers after
// it that are computed in one pass (its *epilogue*): batch norm, an activation, 2×2 max pooling.
// Any other pooling, pooling after an activation but ReLU, most norms and dropout are *unfused*,
// units by themselves. An epilogue may also add the y of an earlier unit, after batch norm and
// before ReLU: the end of a residual block. Flatten costs nothing because samples are innermost;
// only if other layers read the image too, it is a unit that copies, as unflatten is. The scale of
// the logits belongs to the unit of the last linear layer. The last unit has no epilogue, since the
// loss writes its gradient over z: logits that no linear layer or sum makes are copied.
//
//        x ──anchor──► z ──epilogue──► y      x: the y of an earlier unit, or the input
//       dx ◄────────── dz ◄─────────── dy
//
// A layer ends its unit if more than one layer reads its output. If several units read y, its
// gradient is the sum of their dx, added in the reverse order of the units.
//
// A slice is a unit whose y is a range of the channels of x. A concat is a unit for each input,
// whose y is a range of the concat's, and then one for the whole, which computes nothing. A y may
// lie *within* another one, as such a range: in place of a copy.
#ifndef LOCKSTEP_COMPUTE_PLAN_UNITS_H
#define LOCKSTEP_COMPUTE_PLAN_UNITS_H

#include <stdbool.h>

#include "base/error.h"
#include "compute/program.h"

enum { UNIT_INPUT = -1, UNIT_NONE = -2 }; // the input, among the numbers of units; and none

// An input of a unit.
typedef struct unit_source {
    int unit;      // whose y it is; or UNIT_INPUT; UNIT_NONE: there is no x
    bool gradient; // its gradient is needed
    bool adds;     // a later unit reads it too: add to the gradient that this one has written
} unit_source;

// A part of another value, as long as what it is said of.
typedef struct value_range {
    int unit;       // whose y, or dy, it is; or UNIT_INPUT; UNIT_NONE: it is no part
    size_t feature; // where it begins: channels before it · positions
} value_range;

// How an engine runs a unit, as far as the list of its operations depends on it (step_plan.h).
// units_init leaves all of them false: then each operation does a single thing.
typedef struct unit_options {
    bool in_place; // z is x, which nothing else reads, and dx is dz: no OP_ANCHOR, OP_ANCHOR_INPUT
    bool on_x;     // z is x, which others may read, so that dz replaces dy: no OP_ANCHOR
    bool again;    // y is not kept: OP_EPILOGUE_AGAIN before the weight gradients of its reader
    // Operations that are part of another one:
    bool moments_with_anchor;
    bool norm_with_moments;  // and OP_NORM_BACKWARD with the sums
    bool statistics_forward; // OP_STATISTICS, with the norm
    bool epilogue_with_anchor, inference_epilogue_with_anchor;
    bool activation_with_epilogue; // backward, of `smooth`
    bool sums_with_reader; // OP_EPILOGUE_SUMS, with OP_ANCHOR_INPUT of the unit that reads y
} unit_options;

typedef struct unit_layers {
    unit_source source;   // of x
    bool sum;             // z = x + the y of `second`; anchor is NULL
    bool flattens;        // z is a copy of x: an image, or read as one, too; or the logits
    bool plus;            // the epilogue adds the y of `second`
    unit_source second;   // of these two, and of an unfused layer that has_second
    const layer *anchor;  // conv or linear; NULL: z is a copy of x, or a sum
    const layer *norm;    // batch norm; NULL: none
    bool relu, pool;      // pool: 2×2
    const layer *smooth;  // an activation but ReLU, the end of an epilogue; NULL: none
    const layer *unfused; // without anchor, norm and z; NULL: none
    const layer *moved;   // likewise: a slice, or an input of a concat: y is x; NULL: none
    const layer *joined;  // likewise, and without x: a whole concat; NULL: none
    value_range part;     // moved: that slice of its source, or its place in the concat
    value_range within, gradient_within; // where y and dy lie
    const layer *scale;  // of the logits: z is the product of anchor, scaled; NULL: none
    bool first;          // no input gradient is needed: x is the input
    bool last;           // the logits: no epilogue; the loss writes its gradient to z
    shape x, z, y;       // x: the shape that the unit's first layer reads its input as
    int norm_index;      // which batch norm, from 0
    size_t norm_channel; // channels of the preceding batch norms
    unit_options options;
} unit_layers;

static inline bool unit_is_slice(const unit_layers *u) {
    return u->moved && layer_traits_of(u->moved)->role == ROLE_SLICE;
}

static inline bool unit_z_is_x(const unit_layers *u) {
    return u->options.in_place || u->options.on_x;
}

// Can z be x? Nothing computes it, and dz is as large as dy.
static inline bool unit_can_be_on_x(const unit_layers *u) {
    return !u->anchor && !u->sum && !u->flattens && !u->pool && !u->unfused && !u->moved &&
           !u->joined;
}

static inline bool unit_has_second(const unit_layers *u) {
    return u->sum || u->plus || (u->unfused && layer_has_second(u->unfused));
}

// The last function of an epilogue but for pooling.
static inline activation_kind unit_epilogue_activation(const unit_layers *u) {
    if (u->smooth) return layer_traits_of(u->smooth)->activation;
    return u->relu ? ACTIVATION_RELU : ACTIVATION_NONE;
}

static inline activation_numbers unit_epilogue_numbers(const unit_layers *u) {
    const activation_numbers none = {0, 0};
    return u->smooth ? layer_activation_numbers(u->smooth) : none;
}

typedef struct unit_list {
    unit_layers *units;
    int count;
    int norms;            // units with batch norm
    size_t norm_channels; // channels of all batch norms together
    bool cut; // the engine's threads may share a group of samples (slices.h); units_init: false
} unit_list;

// Divides a program into units. Fails with STATUS_USAGE, naming the layer, if no backend can run
// the program. `receives`: the input gradient is needed; `logits`: the program ends in them.
status units_init(unit_list *u, const program *p, bool receives, bool logits,
                  error *err) MUST_CHECK;
void units_release(unit_list *u);

// Returns the number of operands of units that are the y of this one; or the input.
int units_readers(const unit_list *u, int unit);

// Finds the part [*first, *end) of the parameter arena that holds the tensors of the program's
// layers: all of it, or for a pipeline stage its own part; empty if there are none.
void units_own_part(const program *p, size_t *first, size_t *end);

#endif
