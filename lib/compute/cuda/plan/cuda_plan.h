// SPDX-License-Identifier: MIT
// cuda_plan.h - a step as a list of operations, each of which works on all shards of an engine at
// once, with finished tasks for their kernels (cuda_kernels.h). It is made once, when the engine is
// opened. The other headers of this folder: arithmetic.h, the order of sums; arrays.h, memory;
// shards.h, how a step and its gradient buffer are divided.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_CUDA_PLAN_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_CUDA_PLAN_H

#include "compute/backend.h"
#include "compute/cuda/device/device.h"
#include "compute/cuda/plan/arithmetic.h"
#include "compute/plan/units.h"

typedef enum operation_kind {
    OP_LOAD,
    OP_RECEIVE, // pipeline stages: activations from the previous stage
    OP_ANCHOR,
    OP_MOMENTS,  // batch norm of each shard; with sync_batch_norm only mean and M2
    OP_EXCHANGE, // batch norm over shards of several engines: exchange through the host
    OP_NORM,     // batch norm: scale and shift
    OP_EPILOGUE,
    OP_UNFUSED,
    OP_SEND,
    // The gradient of the logits, made here or given, and the gradient buffers' loss.
    OP_LOSS,
    OP_RECEIVE_GRADIENT,    // of a stage's output
    OP_LOSS_SUM,            // of a stage that has no loss: 0
    OP_EPILOGUE_ACTIVATION, // dy of an epilogue, through GELU or SiLU, or back to its sum
    OP_EPILOGUE_SECOND,     // that dy, for the second input of the sum
    OP_EPILOGUE_SUMS,
    OP_NORM_BACKWARD,
    OP_EPILOGUE_BACKWARD,
    OP_ANCHOR_WEIGHTS,
    OP_ANCHOR_INPUT,
    OP_UNFUSED_BACKWARD,
    OP_ADD_GRADIENT, // dx, of one reader of several
    OP_SEND_GRADIENT,
} operation_kind;

// A unit and its activations for all of an engine's shards, in the layout of cuda_kernels.h.
typedef struct cuda_unit {
    unit_layers layers;
    bool ours;  // the anchor is a product of conv.cu; if not, of cuBLAS, or there is no anchor
    bool fuses; // it is ours and writes further results, if they are needed
    // Further results that such a product writes; then they have no separate operation.
    // fuses_epilogue: it can make the epilogue, once scale and shift of a batch norm are known.
    bool makes_moments, makes_epilogue, fuses_epilogue;
    // The unit that makes x, if the input gradient also makes the sums for its batch norm.
    const struct cuda_unit *sums_of;
    bool has_sums;           // the unit that reads y makes this one's sums
    const float *x, *second; // the y of earlier units, or the input; second NULL: none
    // Where the unit writes the gradients of both. If another unit has written one before, dx is
    // shared scratch memory, and is then added to `dx_total`; second_dx is added to at once.
    // NULL: not needed.
    float *dx, *dx_total, *second_dx;
    float *z, *y, *dy;
    uint8_t *argmax;
    // The tasks of its kernels, as far as it has such layers; `dropout` is forward's, and
    // epilogue_gradient is for what follows OP_EPILOGUE_ACTIVATION. They lack only the pointers
    // into the step input.
    conv_task conv;
    norm_task norm;
    epilogue_task epilogue, epilogue_gradient, inference_epilogue;
    pool_task pool;
    dropout_task dropout;
    activation_task activation; // or the scale of the logits, in place
    group_norm_task group_norm;
} cuda_unit;

typedef struct operation {
    operation_kind kind;
    const cuda_unit *unit; // NULL: it has none
} operation;

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
    operation *operations, *inference;
    int operation_count, inference_count, backward_first;
    bool graphable; // nothing in a step needs the host
    bool uses_blas;
    // Tasks without a unit. They, too, lack the pointers into the step input.
    load_task load;
    loss_task loss;
    update_task update;
} cuda_plan;

// The steps of making a plan, in this order; then cuda_make_tasks() (arrays.h). cuda_plan_close()
// is called even after a failure.
void cuda_plan_begin(cuda_plan *p, const program *of, const engine_options *o, optimizer_kind kind);
status cuda_place(cuda_plan *p, cuda_device *d, error *err) MUST_CHECK; // units and their memory
void cuda_sequence(cuda_plan *p);
void cuda_plan_close(cuda_plan *p);

phase cuda_operation_phase(operation_kind kind);
// Returns the floats of one block that a stage receives or sends (backend.h).
size_t cuda_block_floats(const cuda_plan *p, bool output);

// Returns the unit that makes the logits or a stage's output.
static inline const cuda_unit *cuda_last_unit(const cuda_plan *p) {
    return &p->placed[p->units.count - 1];
}

#endif
