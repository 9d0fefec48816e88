// SPDX-License-Identifier: MIT
// engine.h - internals of the CPU engine, which executes a step_plan. engine.c: opening, closing,
// and the update; cpu_plan.c: what the plan needs of the engine; ownership.c: which thread has
// which groups; operations.c: one group; layers.c, convolution.c: what each kind of layer does to
// it; batch_norm.c: statistics of a shard; step.c: a whole step; exchange.c: a step in parts, which
// engines exchange.
//
// In a superstep every thread runs the operations on its own groups, one group after another, so
// that the activations of a group stay in the cache. If images are so small that one does not fill
// a block of Winograd's algorithm, it takes a few groups at a time, a *chunk*: each operation of
// the superstep on all of them, then the next operation. After a barrier the threads together run
// the operation that joins the groups. Without batch norm a step is one superstep, and a thread
// needs memory for a single group only.
//
// A thread's leaves are contiguous. Their gradient buffers go through a stack machine
// (reduction_tree_merges): the operations of a leaf write into a new gradient buffer or, if the
// tree adds the leaf to the preceding sum, directly into that sum.
#ifndef LOCKSTEP_COMPUTE_CPU_ENGINE_H
#define LOCKSTEP_COMPUTE_CPU_ENGINE_H

#include "compute/cpu/kernels.h"
#include "compute/cpu/placement.h"
#include "compute/cpu/team.h"
#include "compute/plan/step_plan.h"

enum {
    CACHE_LINE = 64,
    CHUNK = WINOGRAD_TILES // groups of a chunk, at most
};

// What a superstep needs of this engine.
typedef struct superstep_needs {
    int chunk;            // groups that its operations take at a time, at most
    size_t values, added; // floats of each of these in the memory of the thread
} superstep_needs;

// The plan of a step or an inference, and what it needs.
typedef struct cpu_plan {
    step_plan steps;
    superstep_needs *needs; // of each superstep
    // For products by Winograd's algorithm: filters, transformed (filters_transform), of all
    // operations, or of one superstep at a time; and the offset of those of each operation.
    float *filters;
    size_t filter_floats, *filters_at;
    size_t values_floats, added_floats; // of the largest chunk
} cpu_plan;

typedef struct group {
    int shard;   // local number
    int samples; // 1 … 16
    int first;   // index of its first sample in the batch
    bool leads;  // the first group of its shard
} group;

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
} norm_state;

// Data of one thread of the team.
typedef struct team_member {
    float **stack; // of gradient buffers, stack_size at most; those that a step needs exist
    float *scratch;
    float *values; // y that are computed again: of each group of a chunk
    float *added;  // likewise: gradients before they are added to others
    int first_leaf, end_leaf;
    uint64_t ns[PHASES], last; // time spent; start of the current phase
    trace_track *track;
    uint64_t digest;
} team_member;

struct engine {
    const program *program;
    const kernels *kernels;
    engine_options options;
    optimizer_kind kind;
    team *team;
    placement placement;
    cpu_plan training, inference;
    uint32_t frozen; // groups of parameters whose gradients `training` leaves out
    // Training has the filters of one superstep at a time, and inference has its own, from the
    // first call on. If not, inference has those of training.
    bool filters_by_superstep;
    bool inference_is_old; // its own filters are those of earlier parameters

    float *parameters, *buffers, *state[2], *packed;
    float load_scale[ENGINE_MAX_CHANNELS], load_shift[ENGINE_MAX_CHANNELS];

    char *slots; // memory of groups, slot_bytes each
    size_t slot_bytes, slot_count;
    group *groups;
    int group_capacity, group_count; // local
    norm_state norm;
    team_member *members;

    const batch *batch;
    int *shard_groups,
        *shard_leaves; // of all shards: groups of each; first leaf of each, then the leaf count
    int *counts;       // samples of each shard for which tree and groups were made
    int counts_first, counts_end;
    reduction_tree tree;
    int stack_size, cover_size; // most pending sums of a thread; most nodes of a cover
    int first_leaf;             // of this engine
    int *cover;                 // nodes of the tree
    float **gradients;
    int cover_count, gradients_room;
    int *terms_node; // the threads' own covers, in order
    float **terms;
    int term_count;
    float *reduced;

    int first_superstep, end_superstep;          // the supersteps that the threads run
    const float *given_gradients, *given_losses; // backward() alone; else NULL
    int run_first, run_end;                      // the local shards being processed
    int gradients_first;                         // index of their first gradient buffer
    const float *stage_in;                       // stages: input and output of this run
    float *stage_out;
    size_t own_first, own_end; // the part of the parameter arena that this engine updates
    const update_rule *rule;
    const uint8_t *const *infer_pixels;
    size_t infer_samples;
    float *infer_logits;

    float **given; // from cpu_allocate
    size_t given_count, given_room;

    uint64_t region_start;
    size_t allocated;
    status failed;
    error *failure;
};

// The operand of an operation: one group, in the memory of a slot, on one thread.
typedef struct group_work {
    engine *e;
    team_member *member;
    const group *group; // NULL: inference
    const group *next;  // this thread's next group; NULL: none
    int index;          // local number of the group
    int samples;
    const uint8_t *const *pixels;
    float *memory;
    float *gradients; // of its leaf, or of the sum that the leaf is added to: then `accumulate`
    bool accumulate;
    float *added, *values; // of the member's, its own part
} group_work;

// cpu_plan.c
void cpu_plan_training(cpu_plan *p, const engine *e, uint32_t frozen);
void cpu_plan_inference(cpu_plan *p, const engine *e);
void cpu_plan_release(cpu_plan *p);
// Finds places for the filters. With `by_superstep`, all supersteps share one memory.
void cpu_plan_place_filters(cpu_plan *p, const engine *e, bool by_superstep);

// operations.c: runs operations [first, end) on a chunk of groups, and accounts for their time.
void operations_run(const group_work *chunk, int count, const cpu_plan *p, int first, int end);

// ownership.c: adapts tree, groups and the leaves of the threads to the sample counts of a batch.
status ownership_prepare(engine *e, const batch *b, error *err) MUST_CHECK;
// Distributes the leaves of local shards [first, end) over the threads.
void ownership_assign(engine *e, int first, int end);

// The unit of an operation that has one.
static inline const unit *engine_unit(const engine *e, const operation *op) {
    return &e->placement.units[op->unit];
}

// Is the operation a product by Winograd's algorithm?
static inline bool is_winograd(const engine *e, const operation *op) {
    return (op->kind == OP_ANCHOR || op->kind == OP_ANCHOR_INPUT) && engine_unit(e, op)->winograd;
}

// The memory that a place is in.
static inline float *group_memory(const group_work *g, place p) {
    return p.in_thread ? g->values : g->memory;
}

static inline float *engine_slot(const engine *e, size_t number) {
    return (float *)(e->slots + number * e->slot_bytes);
}

static inline uint8_t *group_choices(const group_work *g, const unit *u) {
    return (uint8_t *)(g->memory + g->e->placement.floats) + u->choices;
}

// A place without borders as a view of another shape: flatten changes the shape, but not the
// memory.
static inline view group_view(const group_work *g, place p, shape s) {
    const size_t row = (size_t)s.width * (size_t)g->e->kernels->lanes;
    if (p.size.channels == s.channels && p.size.height == s.height && p.size.width == s.width)
        return place_view(p, g->memory);
    return (view){g->memory + p.offset, s.channels, s.height, s.width, row, (size_t)s.height * row};
}

// layers.c: the operations of a layer that begins a unit, as its anchor or unfused. Epilogues and
// sums have theirs in operations.c, whatever their layers.
typedef struct cpu_anchor {
    void (*forward)(const group_work *g, const unit *u); // writes z
    void (*backward)(const group_work *g, const unit *u, float *dx);
    void (*weights)(const group_work *g, const unit *u, float *dw, float *db);
} cpu_anchor;
extern const cpu_anchor cpu_anchors[LAYER_KINDS];
void unfused_forward(const group_work *g, const unit *u);
void unfused_backward(const group_work *g, const unit *u, float *dx); // and its tensors

// convolution.c: the anchor of a unit, if it is a convolution. `dx` is dense; `db` is NULL if there
// is no bias. convolution_pack copies the weights for the kernels, for the forward pass or, with
// `transpose`, for the input gradient.
void convolution_forward(const group_work *g, const unit *u);
void convolution_input(const group_work *g, const unit *u, float *dx);
// The same by Winograd's algorithm: the tasks of one group of a chunk.
conv_task convolution_winograd(const group_work *g, const unit *u, const float *filters);
conv_task convolution_winograd_input(const group_work *g, const unit *u, const float *filters,
                                     float *dx);
void convolution_weights(const group_work *g, const unit *u, float *dw, float *db);
void convolution_pack(const engine *e, const unit *u, bool transpose);

// convolution.c: transforms a thread's share of the filters of operations [first, end).
void filters_transform(const engine *e, const cpu_plan *p, int first, int end, int member);

// Returns true if a group is finished before the next one begins. Then all groups of a thread share
// one slot.
static inline bool engine_shares_slots(const engine *e) {
    return e->placement.list.norms == 0 && !e->options.apart && !e->options.stage;
}

// step.c
// Prepares the engine for the steps of a batch.
status cpu_begin(engine *e, const batch *b, error *err) MUST_CHECK;
// Runs supersteps [first, end) on all threads, on the leaves that ownership_assign gave them.
void step_run(engine *e, int first, int end, error *err);
// For the table:
status cpu_step(engine *e, const batch *b, error *err) MUST_CHECK;
status cpu_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err) MUST_CHECK;

// exchange.c: copies `rows` elements of a group from a block of the interface, [rows][GROUP], to
// this engine's memory. Lanes that the source lacks become zero.
void lanes_import(const engine *e, const float *block, float *memory, size_t rows);
// Operations that exchange activations or their gradients, on one group.
void exchange_receive(const group_work *g);
void exchange_send(const group_work *g);
void exchange_receive_gradient(const group_work *g);
void exchange_send_gradient(const group_work *g);
// For the table:
status cpu_forward(engine *e, const batch *b, error *err) MUST_CHECK;
status cpu_backward(engine *e, const float *gradients, const float *losses, error *err) MUST_CHECK;
size_t cpu_logits_floats(const engine *e);
void cpu_gather_logits(engine *e, float *logits);
void cpu_loss(engine *e, const batch *whole, float *logits, float *losses);
size_t cpu_stage_floats(const engine *e, bool output);
status cpu_stage_forward(engine *e, const batch *b, int first_shard, int end_shard, const float *in,
                         float *out, error *err) MUST_CHECK;
status cpu_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                          error *err) MUST_CHECK;
void cpu_stage_reduce(engine *e);

// engine.c: takes memory for the first `count` gradient buffers of a thread's stack.
status engine_take_stack(engine *e, team_member *m, int count, error *err) MUST_CHECK;
// engine.c: plans training anew, for other frozen groups.
void engine_freeze(engine *e, uint32_t frozen);
// engine.c: takes memory for the filters of inference, once.
status engine_take_filters(engine *e, error *err) MUST_CHECK;
// Runs a body on the team and charges the whole wall time to phases of every member.
void engine_region(engine *e, void (*body)(void *engine, int member));
// Charges the time since the last call to `spent`, and records it if there is a trace.
void member_mark(team_member *m, phase spent);

// batch_norm.c: all threads call these together, after a barrier; each computes its part of the
// channels. The end is a barrier, too. They return false if an exchange failed (status in
// e->failed); all threads then leave the step.
bool batch_norm_forward(engine *e, const unit *u, int member);
bool batch_norm_backward(engine *e, const unit *u, int member);
// Computes scale and shift from the running statistics.
void batch_norm_inference(engine *e);
// Updates the running statistics after a step, from the reduced gradient buffer.
void batch_norm_update(engine *e);

#endif
