// SPDX-License-Identifier: MIT
// step_plan.h - a step as a list of operations: what is computed, in which order, and what must
// wait for what. It is data, made from a program's units and an engine's options; an engine
// executes it. `train-single --print-plan` prints it.
//
// Every operation but those on the program's input belongs to a unit (units.h). Most compute
// each sample, or each group of samples, by itself. Some *join* them: batch norm needs the moments
// of a whole shard, or with sync_batch_norm of all shards. A *superstep*, as in bulk-synchronous
// programs, is what comes before, between and after these: within it no group waits for another
// one. A step without batch norm is one superstep.
//
// Forward, of each unit in order:   anchor, moments, norm, epilogue
// The loss, or a gradient received
// Backward, from the last unit on:  epilogue (activation, second, sums, norm, epilogue),
//                                   anchor (weights, input)
#ifndef LOCKSTEP_COMPUTE_PLAN_STEP_PLAN_H
#define LOCKSTEP_COMPUTE_PLAN_STEP_PLAN_H

#include "compute/backend.h"
#include "compute/plan/slices.h"
#include "compute/plan/units.h"

typedef enum operation_kind {
    OP_LOAD,    // images
    OP_RECEIVE, // pipeline stages: activations from the previous stage
    OP_ANCHOR,
    OP_MOMENTS, // batch norm: mean and squares
    OP_NORM,    // joins: those of the shard, and so scale and shift
    OP_EPILOGUE,
    OP_UNFUSED,
    OP_COPY,                // x, of a slice or into a concat
    OP_SEND,                // activations or logits, to another engine
    OP_LOSS,                // and the gradient of the logits
    OP_RECEIVE_GRADIENT,    // of what was sent; and its losses, if they have been computed
    OP_EPILOGUE_ACTIVATION, // dy through an activation but ReLU; of a sum, through its ReLU
    OP_EPILOGUE_SECOND,     // that dy, for the second operand of the sum
    OP_EPILOGUE_SUMS,       // batch norm: over dy; also the gradients of its scale and shift
    OP_STATISTICS,          // batch norm: what the running statistics follow
    OP_NORM_BACKWARD,       // joins: the sums of the shard, and so the factors of dz
    OP_BARRIER,             // joins, and does nothing: for one whose gradient nothing needs
    OP_EPILOGUE_BACKWARD,
    OP_EPILOGUE_AGAIN, // a y that was not kept
    OP_ANCHOR_WEIGHTS,
    OP_ANCHOR_INPUT,
    OP_UNFUSED_BACKWARD,
    OP_COPY_GRADIENT, // dy of these, to dx
    OP_ADD_GRADIENT,  // dx of a later reader, to that of an earlier one
    OP_SEND_GRADIENT,
    OPERATION_KINDS
} operation_kind;

typedef struct operation_traits {
    const char *name; // as printed
    phase phase;
    bool joins;        // it works on all groups of a shard at once, after what comes before it
    operation_cut cut; // if it is large; that of an unfused layer follows from the layer
} operation_traits;

extern const operation_traits operation_kind_traits[OPERATION_KINDS];

typedef struct gradient_range { // a part of the gradient buffer (backend.h)
    size_t first, count;
} gradient_range;

typedef struct operation {
    operation_kind kind;
    int unit;                   // its number; NO_UNIT: it belongs to none
    int first_range, end_range; // the parts of the gradient buffer that it writes
    operation_cut cut;          // for threads that share a group, if the units are cut
} operation;

enum { NO_UNIT = -1 };

typedef struct superstep {
    int first, end; // operations without the one that joins them
    bool joins;     // that one follows, operation `end`
} superstep;

typedef struct step_plan {
    const program *program;
    const unit_list *units;
    operation *operations;
    superstep *supersteps;
    gradient_range *ranges;
    int operation_count, superstep_count, range_count;
    // Where backward begins, with the loss. If the engine runs in parts, it begins a superstep.
    int backward, backward_superstep;
} step_plan;

// Plans a training step. `units` and `p` must outlive the plan. `frozen`: as in a batch
// (backend.h); the plan leaves out what only gradients of frozen groups need.
void step_plan_training(step_plan *plan, const program *p, const unit_list *units,
                        const engine_options *o, uint32_t frozen);
// Plans an inference: batch norm has its running statistics.
void step_plan_inference(step_plan *plan, const program *p, const unit_list *units);
void step_plan_release(step_plan *plan);

// Refuses a part that an engine opened with these options does not run (run_part; NULL: a whole
// step).
status step_plan_check_part(const engine_options *o, const run_part *part, error *err) MUST_CHECK;

static inline phase operation_phase(const operation *op) {
    return operation_kind_traits[op->kind].phase;
}

#endif
