// SPDX-License-Identifier: MIT
// group_work.h - what the operations of a plan read and write: the program, its weights and places,
// the batch, and the memory of one group.
#ifndef LOCKSTEP_COMPUTE_CPU_GROUP_WORK_H
#define LOCKSTEP_COMPUTE_CPU_GROUP_WORK_H

#include "compute/cpu/kernels.h"
#include "compute/cpu/ownership.h"
#include "compute/cpu/placement.h"
#include "compute/cpu/team_members.h"
#include "compute/plan/step_plan.h"

enum { CHUNK = WINOGRAD_TILES }; // groups that operations take at a time, at most

// Batch norm's values for each group or shard; the channels of all norms are contiguous.
typedef struct norm_state {
    double *group_mean, *group_m2;      // [group][channel]
    float *group_dy, *group_dy_xhat;    // [group][channel]
    float *mean, *mean_rest;            // [local shard][channel]; their sum is the mean
    float *inv_std, *scale, *shift;     // [local shard][channel], forward
    float *from_dy, *from_z, *from_one; // [local shard][channel], backward
    float *weighted_mean,
        *weighted_variance;       // [local shard][channel]: the shard's part of the gradient buffer
    double *mine, *all;           // sync: [local shard or shard][2·channels of one norm]
    float *run_scale, *run_shift; // [channel]: inference
    status failed;                // of an exchange in this step
    error *failure;
} norm_state;

// What all groups share.
typedef struct execution {
    const program *program;
    const kernels *kernels;
    engine_options options;
    int threads; // that compute now
    placement placement;
    float *parameters, *buffers;
    float *packed; // copies of weights (packing.h)
    float load_scale[ENGINE_MAX_CHANNELS], load_shift[ENGINE_MAX_CHANNELS];
    norm_state norm;
    const batch *batch;
    run_part part; // of the step
} execution;

// The operand of an operation: one group, in the memory of a slot, on one thread; or a slice of it,
// on one of the threads of a crew.
typedef struct group_work {
    const execution *e;
    team_member *member;
    team_member *mates; // of the crew, from its first one on
    team *team;
    crew crew;
    op_slice slice;     // of the operation
    const group *group; // NULL: inference
    const group *next;  // this thread's next group; NULL: none
    int index;          // local number of the group
    int samples;
    const uint8_t *const *pixels;
    float *memory, *images; // images: in the same memory, or the member's own
    float *gradients; // of its leaf, or of the sum that the leaf is added to: then `accumulate`
    bool accumulate;
    float *added, *values; // of the member's, or the first mate's, its own part
} group_work;

// The member's slice of operations that are cut.
static inline op_slice group_slice(const group_work *g) {
    return (op_slice){(int)(g->member - g->mates), g->crew.size};
}

// The unit of an operation that has one.
static inline const unit *unit_of(const execution *e, const operation *op) {
    return &e->placement.units[op->unit];
}

// Is the operation a product by Winograd's algorithm?
static inline bool is_winograd(const execution *e, const operation *op) {
    return (op->kind == OP_ANCHOR || op->kind == OP_ANCHOR_INPUT) && unit_of(e, op)->winograd;
}

// The memory that a place is in.
static inline float *group_memory(const group_work *g, place p) {
    return p.home == IN_GROUP ? g->memory : p.home == IN_VALUES ? g->values : g->images;
}

static inline uint8_t *group_choices(const group_work *g, const unit *u) {
    return (uint8_t *)(g->memory + g->e->placement.floats) + u->choices;
}

// A place without borders as a view of another shape: flatten changes the shape, but not the
// memory.
static inline view group_view(const group_work *g, place p, shape s) {
    const size_t row = (size_t)s.width * (size_t)g->e->kernels->lanes;
    if (p.size.channels == s.channels && p.size.height == s.height && p.size.width == s.width)
        return place_view(p, group_memory(g, p));
    return (view){group_memory(g, p) + p.offset, s.channels, s.height, s.width, row,
                  (size_t)s.height * row};
}

#endif
