// SPDX-License-Identifier: MIT
// cuda_plan.h - what an engine executes: the plan of a step (compute/plan/step_plan.h), each of
// whose operations works on all shards of the engine at once, and for every unit finished tasks for
// their kernels (cuda_kernels.h). The other headers of this folder: arithmetic.h, the order of
// sums; arrays.h, memory; shards.h, how a step and its gradient buffer are divided.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_CUDA_PLAN_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_CUDA_PLAN_H

#include "compute/backend.h"
#include "compute/cuda/device/device.h"
#include "compute/cuda/plan/arithmetic.h"
#include "compute/plan/step_plan.h"

// A unit and its activations for all of an engine's shards, in the layout of cuda_kernels.h.
typedef struct cuda_unit {
    const unit_layers *layers;
    bool ours; // the anchor is a product of conv.cu; if not, of cuBLAS, or there is no anchor
    // The unit that makes x, if the input gradient also makes the sums for its batch norm.
    const struct cuda_unit *sums_of;
    const float *x, *second; // the y of earlier units, or the input; second NULL: none
    // Where the unit writes the gradients of both. If another unit has written one before, dx is
    // shared scratch memory, and is then added to `dx_total`; second_dx is added to at once.
    // NULL: not needed.
    float *dx, *dx_total, *second_dx;
    float *z, *y, *dy;
    uint8_t *argmax;
    // The tasks of its kernels, as far as it has such layers; epilogue_gradient is for what follows
    // OP_EPILOGUE_ACTIVATION. They lack only the pointers into the step input.
    cuda_conv_task conv;
    norm_task norm;
    cuda_epilogue_task epilogue, epilogue_gradient, inference_epilogue;
    cuda_range_task range, range_gradient; // moved
    cuda_layer_task layer;                 // unfused; or the scale of the logits, in place
} cuda_unit;

typedef struct cuda_plan {
    const program *program;
    engine_options options;
    optimizer_kind kind;
    const arithmetic *sums_by;
    int lanes;  // samples of a shard in memory
    int groups; // ⌈lanes / GROUP⌉
    unit_list units;
    cuda_unit *placed;             // units.count of them
    float *input, *input_gradient; // activations
    float *added;                  // cuda_unit.dx of those that have a dx_total
    float *workspace;              // of weight gradients, on the side stream
    unsigned *counters;            // likewise
    float *transforms;             // of convolutions, on the main stream
    step_plan training, inference;
    uint32_t frozen; // groups of parameters whose gradients `training` leaves out
    bool graphable;  // nothing in a step needs the host
    bool uses_blas;
    // Tasks without a unit. They, too, lack the pointers into the step input.
    load_task load;
    cuda_loss_task loss;
    cuda_update_task update;
} cuda_plan;

// The steps of making a plan, in this order; then cuda_make_tasks() (arrays.h). cuda_plan_close()
// is called even after a failure.
void cuda_plan_begin(cuda_plan *p, const program *of, const engine_options *o, optimizer_kind kind);
status cuda_plan_steps(cuda_plan *p, error *err) MUST_CHECK;            // units, and their order
status cuda_place(cuda_plan *p, cuda_device *d, error *err) MUST_CHECK; // their memory
void cuda_plan_close(cuda_plan *p);

// Plans training anew, for other frozen groups.
void cuda_plan_freeze(cuda_plan *p, uint32_t frozen);

// unit_options.c: cuts a program into units and decides how they run (backend.h).
status cuda_units(const program *of, const engine_options *o, unit_list *list,
                  error *err) MUST_CHECK;
int cuda_lanes(const engine_options *o); // samples of a shard in memory
// Is the anchor a product of conv.cu? If not, it is of cuBLAS.
bool cuda_is_ours(const arithmetic *sums_by, const layer *anchor, int lanes);

// Returns the unit of an operation; NULL: it has none.
static inline const cuda_unit *cuda_unit_of(const cuda_plan *p, const operation *op) {
    return op->unit == NO_UNIT ? NULL : &p->placed[op->unit];
}

// Returns the unit that makes the logits or a stage's output.
static inline const cuda_unit *cuda_last_unit(const cuda_plan *p) {
    return &p->placed[p->units.count - 1];
}

#endif
