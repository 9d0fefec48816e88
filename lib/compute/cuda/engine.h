// SPDX-License-Identifier: MIT
// engine.h - the internals of the CUDA engine. engine.c: opening and closing, parameters, the
// backend's table; sequence.c: the order of operations; operations.c, layers.c, linear.c,
// transfer.c: from operations to kernels; input.c: a step's input; graphs.c: parts of a step as
// graphs; step.c, inference.c: running them and returning results; exchange.c: steps in parts, for
// strategies that divide them; arithmetic.c: the order of sums; timing.c: the time of a step by
// phase; profile.c, limits.c, stopwatch.c: the time by operation; peers.c: exchange between engines
// of one process; group.c, buckets.c, nccl.c, ipc.c: reduction over several ranks; placement.c,
// arrays.c, memory.c: memory.
//
// A step is a list of operations, each of which works on all shards of the engine at once
// (kernels.h). It is captured as a CUDA graph when it first runs and is replayed from then on.
// Everything that changes from step to step lies in one block of device memory, the *step input*,
// which one copy fills. The data set is on the device if it fits: then the step input only names
// its rows. Records stay on the device until the caller requests them (backend.h).
//
// The leaves of the reduction tree are whole shards here: the kernels add up a shard in an order of
// their own, so CPU and GPU agree only within rounding; or, with engine_options.exact, along the
// CPU's tree of its groups, and then they agree in every bit (arithmetic.c).
#ifndef LOCKSTEP_COMPUTE_CUDA_ENGINE_H
#define LOCKSTEP_COMPUTE_CUDA_ENGINE_H

#include <cublas_v2.h>

#include "base/reduction_tree.h"
#include "compute/backend.h"
#include "compute/cuda/kernels/kernels.h"
#include "compute/cuda/library.h"
#include "compute/units.h"

typedef enum operation_kind {
    OP_LOAD,
    OP_RECEIVE, // pipeline stages: activations from the previous stage
    OP_CORE,
    OP_MOMENTS,  // batch norm of each shard; with sync_batch_norm only mean and M2
    OP_EXCHANGE, // batch norm over shards of several engines: exchange through the host
    OP_NORM,     // batch norm: scale and shift
    OP_TAIL,
    OP_ALONE,
    OP_SEND,
    // The gradient of the logits, made here or given (e->given_gradients), and the records' loss.
    OP_LOSS,
    OP_RECEIVE_GRADIENT, // of a stage's output
    OP_LOSS_RECORD,      // of a stage that has no loss: 0
    OP_TAIL_ACTIVATION,  // dy of a tail, through GELU or SiLU, or back to its sum
    OP_TAIL_SECOND,      // that dy, for the second input of the sum
    OP_TAIL_SUMS,
    OP_NORM_BACKWARD,
    OP_TAIL_BACKWARD,
    OP_CORE_WEIGHTS,
    OP_CORE_INPUT,
    OP_ALONE_BACKWARD,
    OP_ADD_GRADIENT, // dx, of one reader of several
    OP_SEND_GRADIENT,
} operation_kind;

// arithmetic.c: the kernels whose sums have more than one order.
typedef struct arithmetic {
    // Large linear layers are products of cuBLAS, and products have further results: in another
    // order.
    bool fuses;
    void (*conv)(launch_stream s, const cut *c, const conv_task *t);
    void (*conv_input)(launch_stream s, const cut *c, const conv_task *t);
    void (*conv_weight)(launch_stream s, const cut *c, const conv_task *t);
    size_t (*conv_transforms)(const conv_task *t, int lanes, int shards);
    size_t (*conv_workspace)(const conv_task *t, int lanes, int shards);
    size_t (*conv_counters)(const conv_task *t, int lanes, int shards);
    void (*moments)(launch_stream s, const cut *c, const norm_task *t);
    parts_room (*moments_room)(shape size, int lanes, int shards);
    void (*tail_sums)(launch_stream s, const cut *c, const tail_task *t);
    parts_room (*tail_sums_room)(const tail_task *t, int lanes, int shards);
} arithmetic;
const arithmetic *cuda_arithmetic(bool exact);

// A unit and its activations for all of an engine's shards, in the layout of kernels.h.
typedef struct cuda_unit {
    unit_layers layers;
    bool ours;  // the core is a product of conv.cu; if not, of cuBLAS, or there is no core
    bool fuses; // it is ours and writes further results, if they are needed
    // Further results that such a product writes; then they have no separate operation. fuses_tail:
    // it can make the tail, once scale and shift of a batch norm are known.
    bool makes_moments, makes_tail, fuses_tail;
    // The preceding unit, if the input gradient also makes the sums for its batch norm.
    const struct cuda_unit *sums_of;
    bool has_sums;           // the following unit makes this one's sums
    const float *x, *second; // the y of earlier units, or the input; second NULL: none
    // Where the unit writes the gradients of both. If another unit has written one before, dx is
    // shared scratch memory, and is then added to `dx_total`; second_dx is added to at once.
    // NULL: not needed.
    float *dx, *dx_total, *second_dx;
    float *z, *y, *dy;
    uint8_t *winner;
} cuda_unit;

typedef struct operation {
    operation_kind kind;
    const cuda_unit *unit; // NULL: it has none
} operation;

enum { MAX_OPERATIONS_OF_UNIT = 16, RECORDS_MOST = 2 * REDUCTION_TREE_MAX_DEPTH };

// The parts in which a step can run; each is a separate graph. If nothing comes between a step and
// its update, both are one part.
typedef enum piece {
    PIECE_FORWARD,
    PIECE_BACKWARD,
    PIECE_STEP,
    PIECE_UPDATE,
    PIECE_STEP_AND_UPDATE,
    PIECE_REDUCED_STEP_AND_UPDATE, // with a group's reduction in between (buckets.c)
    PIECES
} piece;

// Batch norm's numbers, all channels of all norms in a row.
typedef struct norm_memory {
    double *own, *all; // of one norm at a time; all is own if no other engine has shards
    double *parts;     // likewise
    unsigned *counters;
    double *own_host, *all_host;        // pinned; only if engines exchange
    float *mean, *mean_rest;            // [shard][channel]; their sum is the mean
    float *inv_std, *scale, *shift;     // [shard][channel]
    float *from_dy, *from_z, *from_one; // [shard][channel]
    float *run_scale, *run_shift;       // [channel]: inference
} norm_memory;

// One block of memory, on the host (pinned) and on the device: the same layout.
typedef struct step_input {
    step_numbers *numbers;
    int *count;             // [local shards]
    int *all_count;         // [V]
    int *merges;            // [local shards]; REDUCE_SKIP for a shard without a sample
    int *first_group;       // [local shards]
    uint32_t *rows, *ids;   // [local shards][lanes]
    sample_target *targets; // [local shards][lanes]
    // [local shards · lanes][bytes of an image]: used if the data set is not on the device
    uint8_t *images;
} step_input;

// The host prepares and sends a step's input while the device still works on earlier steps. So
// there are STEPS_AHEAD sets of blocks, used in turn, each with its own graphs.
enum { STEPS_AHEAD = 8 };
typedef struct input_turn {
    step_input host, device;
    cudaEvent_t done; // the last step that used these blocks has finished
} input_turn;

// Events recorded inside the graphs time the phases. If the host does not wait for each step
// (engine_options.deferred), only every MARKED_EVERY-th step has them, and the others are assumed
// to take as long.
enum { MARKED_EVERY = 64 };
enum {
    MARK_COPY,
    MARK_BEGIN,
    MARK_LOADED,
    MARK_FORWARD,
    MARK_BACKWARD,
    MARK_REDUCED,
    MARK_UPDATE,
    MARK_UPDATED,
    MARKS
};

struct engine {
    const program *program;
    engine_options options;
    update_kind kind;
    const arithmetic *sums_by; // engine_options.exact
    char name[80];             // of the device: "NVIDIA H200, sm_90"

    cudaStream_t stream, copies; // copies: of step inputs
    cudaStream_t side;           // weight gradients; `stream` waits for them in each step
    bool programmatic;           // launch_stream.programmatic of both
    cudaEvent_t reached;         // at which one of the two waits for the other
    cublasHandle_t blas;
    cudaGraphExec_t graphs[2][PIECES][STEPS_AHEAD]; // without and with marks; per input block
    cudaEvent_t marks[MARKS];
    bool graphs_are_old;           // for a different number of shards
    bool graphable;                // nothing in a step needs the host
    bool step_waits;               // step prepared but not sent: it goes with its update (step.c)
    bool capturing, tried[PIECES]; // tried: the piece has run once without a graph
    bool reducing;                 // does the step being enqueued reduce its buckets?
    bool marking;                  // does this step record its marks?
    unsigned marked, piece_marks[PIECES]; // bit m: mark m was recorded since the last cuda_book()
    uint64_t profile[PHASES];             // ns of the last step that was marked
    uint64_t profile_hidden;              // phase_times.hidden_comm of it
    uint64_t inside;                      // ns in this engine's calls since the last cuda_book()
    uint64_t steps;                       // since opening

    unit_list units;
    cuda_unit *placed; // units.count of them
    operation *operations, *inference;
    int operation_count, inference_count, backward_first;

    int lanes;     // samples of a shard in memory
    int groups;    // ⌈lanes / GROUP⌉
    size_t record; // floats that are summed over shards: a record's, up to whole ARENA_ALIGNMENTs
    size_t stride; // from one shard's record to the next; a group needs a little more (group.h)
    float *input, *input_gradient;
    float *added; // cuda_unit.dx of those that have a dx_total
    float *parameters, *buffers, *state[2];
    float load_scale[MAX_INPUTS], load_shift[MAX_INPUTS];
    size_t own_first, own_end; // the part of the parameter arena that this engine updates
    uint8_t *group_of;         // engine_options.groups; NULL: none
    norm_memory norm;
    float *records; // [local shards][stride]
    // [records of the cover][stride]; the first is the reduced one; with one local shard it is also
    // that shard's record.
    float *sums;
    float *losses;           // [local shards][groups]
    unsigned *loss_counters; // [local shards]
    float *workspace;        // of weight gradients, on the side stream
    unsigned *counters;      // likewise
    float *transforms;       // of convolutions, on the main stream
    uint8_t *images;         // the data set; NULL: none given, or too large
    input_turn ahead[STEPS_AHEAD];
    step_input host, device; // of this step's turn
    cudaEvent_t arrived;     // the last input sent
    // [STEPS_AHEAD]: step numbers with the rule, for an update that runs separately; pinned
    step_numbers *rules;
    size_t input_bytes;        // of a step input
    norm_running_list running; // except all_count, which is the step input's
    update_progress *progress;
    step_output *results, *results_host; // [ENGINE_PENDING]
    int samples[ENGINE_PENDING];         // of the steps with these results
    int pending;

    // For strategies that divide a step (exchange.c).
    float *blocks;  // [features][GROUP] per group
    int all_groups; // of all V shards; below, each group's samples and targets
    int *group_samples, *group_samples_host;
    sample_target *group_targets, *group_targets_host;

    // For the sum over engines (peers.c), in the engine that computes it.
    float *terms; // [term_room][stride]
    int term_room;
    int *term_merges, *term_merges_host; // [V]

    // Host copies, pinned.
    float *records_host[RECORDS_MOST];
    float *reduced_host;
    float *logits_host;
    bool records_here; // records_host holds those of the last step
    bool reduced_here; // reduced_host is the update's source

    int *shard_leaves, *shard_groups, *counts; // [V + 1], [V], [V]: the tree, and its counts
    int group_count;                           // of GROUP samples, in this engine's shards
    int counts_first, counts_end;
    reduction_tree tree;
    int cover[RECORDS_MOST], record_count;

    const float *given_gradients; // backward() alone
    const float *stage_in;        // stages: this run's input and output, on this device
    float *stage_out;
    int run_first, run_end; // local shards that operations work on

    struct cuda_group *group; // of ranks that reduce on their devices (group.h); NULL: none
    // The stream waits for a dead rank and will never finish, or so does the thread that captures
    // it.
    bool stuck;

    uint64_t ns[PHASES], hidden_comm;
    size_t allocated;
    void **owned, **owned_host; // all allocations
    size_t owned_count, owned_room, owned_host_count, owned_host_room;
    status failed; // of a call that cannot return a status; the next one that can returns it
    error failure;
};

// Returns the turn of this step, in [0, STEPS_AHEAD).
static inline size_t cuda_turn(const engine *e) {
    return (size_t)(e->steps % STEPS_AHEAD);
}

// The streams for kernels: the main one and the side one.
static inline launch_stream cuda_main(const engine *e) {
    return (launch_stream){e->stream, e->programmatic};
}
static inline launch_stream cuda_aside(const engine *e) {
    return (launch_stream){e->side, e->programmatic};
}

// The shards that kernels work on in this run.
static inline cut cuda_cut(const engine *e) {
    return (cut){e->run_first, e->run_end, e->lanes, e->device.count};
}

// check.c: returns STATUS_FAILED, with a message that names the device and the action.
status cuda_check(const engine *e, cudaError_t code, const char *what, error *err) MUST_CHECK;
status cuda_check_blas(const engine *e, cublasStatus_t code, const char *what,
                       error *err) MUST_CHECK;
status cuda_sync(engine *e, error *err) MUST_CHECK; // waits for the device
// Returns the failure of an earlier call that could not return it.
status cuda_pending_failure(engine *e, error *err) MUST_CHECK;

// memory.c: takes zeroed memory, freed with the engine. `memory` is the address of a pointer.
status cuda_take(engine *e, size_t bytes, void *memory, error *err) MUST_CHECK;
status cuda_take_host(engine *e, size_t bytes, void *memory, error *err) MUST_CHECK;
void cuda_release_all(engine *e);

// placement.c: units and their memory.
status cuda_place(engine *e, error *err) MUST_CHECK;

// arrays.c: all other arrays, once units are placed.
status cuda_take_arrays(engine *e, error *err) MUST_CHECK;
status cuda_take_images(engine *e, error *err) MUST_CHECK; // the data set, if there is room

// sequence.c
status cuda_sequence(engine *e, error *err) MUST_CHECK;
phase cuda_operation_phase(operation_kind kind);

// layers.c: layers that are a unit by themselves.
void cuda_alone(const engine *e, const cut *c, const cuda_unit *u, bool training);
void cuda_alone_backward(const engine *e, const cut *c, const cuda_unit *u);
activation_kind cuda_activation_of(const layer *l); // GELU, SiLU, scale

// operations.c: enqueues work on the local shards [run_first, run_end).
status cuda_run_operations(engine *e, int first, int end, error *err) MUST_CHECK;
void cuda_prepare_inference(engine *e); // running statistics to scale and shift
status cuda_run_inference(engine *e, error *err) MUST_CHECK;
status cuda_take_running(engine *e, error *err) MUST_CHECK; // norms that an update moves
status cuda_run_update(engine *e, error *err) MUST_CHECK;
// Work enqueued in `s` from now on runs after the work already in `other`.
status cuda_wait_for(const engine *e, cudaStream_t s, cudaStream_t other, error *err) MUST_CHECK;

// transfer.c: operations that exchange activations with other stages.
size_t cuda_stage_floats(const engine *e, bool output); // for the table, too
status cuda_exchange_operation(engine *e, const cut *c, operation_kind kind, error *err) MUST_CHECK;

// linear.c: products by cuBLAS, one call per shard, so that a shard's bits do not depend on the
// number of shards. Small layers are not worth these calls: they run as convolutions (kernels.h).
bool cuda_linear_by_blas(const layer *l, int lanes);
status cuda_linear_open(engine *e, error *err) MUST_CHECK; // after cuda_place
void cuda_linear_close(engine *e);
status cuda_linear(engine *e, const cut *c, const cuda_unit *u, error *err) MUST_CHECK;
status cuda_linear_input(engine *e, const cut *c, const cuda_unit *u, error *err) MUST_CHECK;
status cuda_linear_weight(engine *e, const cut *c, const cuda_unit *u, error *err) MUST_CHECK;

// input.c
// Fits the tree and the counts to a batch, and fills the host's block.
status cuda_tell(engine *e, const batch *b, error *err) MUST_CHECK;
// The same, and sends it to the device.
status cuda_prepare(engine *e, const batch *b, error *err) MUST_CHECK;
// Sends the host's block to the device, with or without the images at its end: cuda_input_bytes()
// bytes. Work enqueued afterwards can read it.
size_t cuda_input_bytes(const engine *e, bool images);
status cuda_send(engine *e, bool images, error *err) MUST_CHECK;

// graphs.c
status cuda_run_piece(engine *e, piece p, error *err) MUST_CHECK;
void cuda_forget_graphs(engine *e);
// Adds the floats [first, end) of this engine's records along its part of the tree, into `sums`.
status cuda_sum_records(const engine *e, size_t first, size_t end, launch_stream s,
                        error *err) MUST_CHECK;

// timing.c: records an event; accounts for `steps` steps by the time between the events, once the
// device has finished.
void cuda_mark(engine *e, int mark);
// Records an event, if this step is marked.
void cuda_mark_event(const engine *e, cudaEvent_t event, cudaStream_t s);
uint64_t cuda_time_between(cudaEvent_t begin, cudaEvent_t end); // ns
void cuda_book(engine *e, int steps);

// step.c
// Sends and runs a step that waits for its update, for a call that comes in between.
status cuda_run_waiting(engine *e, error *err) MUST_CHECK;
// For the table:
status cuda_step(engine *e, const batch *b, error *err) MUST_CHECK;
status cuda_update_step(engine *e, const update_rule *rule, update_result *result,
                        error *err) MUST_CHECK;
status cuda_collect(engine *e, update_result *results, int count, error *err) MUST_CHECK;
float *const *cuda_records(engine *e, int *count);
float *cuda_reduced(engine *e);

// inference.c, for the table
status cuda_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                  error *err) MUST_CHECK;

// exchange.c, for the table
status cuda_forward(engine *e, const batch *b, error *err) MUST_CHECK;
status cuda_backward(engine *e, const float *gradients, const float *losses, error *err) MUST_CHECK;
size_t cuda_logits_floats(const engine *e);
void cuda_gather_logits(engine *e, float *logits);
void cuda_loss_of_all(engine *e, const batch *whole, float *logits, float *losses);
status cuda_stage_forward(engine *e, const batch *b, int first_shard, int end_shard,
                          const float *in, float *out, error *err) MUST_CHECK;
status cuda_stage_backward(engine *e, int first_shard, int end_shard, const float *dout, float *din,
                           error *err) MUST_CHECK;
void cuda_stage_reduce(engine *e);

// peers.c, for the table
float *cuda_allocate(engine *e, size_t floats, error *err);
status cuda_copy(engine *e, const engine_copy *copies, int count, error *err) MUST_CHECK;
const char *cuda_connect(engine *const *engines, int count);
status cuda_reduce_engines(engine *const *engines, int count, bool exact, error *err) MUST_CHECK;

// stopwatch.c: measures how long the device takes for work that can be captured as a graph.
// Medians.
typedef status cuda_work(engine *e, const void *task, error *err); // enqueues it in the stream
status cuda_time(engine *e, cuda_work *work, const void *task, int repeats, double *us,
                 int *launches, error *err) MUST_CHECK;

// limits.c and profile.c, for the library's table
status cuda_limits(engine *e, device_limits *out, error *err) MUST_CHECK;
status cuda_profile(engine *e, int repeats, operation_profile *out, int room, int *count,
                    error *err) MUST_CHECK;

#endif
