// SPDX-License-Identifier: MIT
// cuda_engine.h - an engine, and running its steps. input.c: a step's input; operations.c,
// layers.c: launching the operations' kernels; graphs.c: parts of a step as graphs; step.c: running
// them, and inference, and returning results; exchange.c: steps in parts, for strategies that
// divide them; peers.c: exchange between engines of one process. The other headers of this folder:
// timing.h, the time of a step by phase; comm_hooks.h, how a step reduces with other ranks.
//
// A step is captured as a CUDA graph when it first runs and is replayed from then on: everything
// that changes from step to step lies in the step input (plan/arrays.h).
#ifndef LOCKSTEP_COMPUTE_CUDA_RUN_CUDA_ENGINE_H
#define LOCKSTEP_COMPUTE_CUDA_RUN_CUDA_ENGINE_H

#include "compute/cuda/plan/arrays.h"
#include "compute/cuda/run/comm_hooks.h"
#include "compute/cuda/run/timing.h"

// The pieces in which a step can run; each is a separate graph. If nothing comes between a step and
// its update, both are one piece. What forward and backward exchange with other engines (run_part)
// has other addresses and sizes in each step: it is in no graph.
typedef enum piece {
    PIECE_FORWARD,
    PIECE_BACKWARD,
    PIECE_STEP,
    PIECE_UPDATE,
    PIECE_STEP_AND_UPDATE,
    PIECE_REDUCED_STEP_AND_UPDATE, // with the ranks' reduction in between
    PIECES
} piece;

typedef struct step_graphs {
    cudaGraphExec_t made[2][PIECES][STEPS_AHEAD]; // without and with marks; per input block
    unsigned marks[PIECES];                       // that a piece with marks records
    bool old;                                     // for a different number of shards
    bool tried[PIECES];                           // the piece has run once without a graph
} step_graphs;

// The sum over engines, in the engine that computes it.
typedef struct peer_terms {
    float *gradients; // [room][stride]
    int room;
    int *merges, *merges_host; // [V]
} peer_terms;

struct engine {
    cuda_device device;
    cuda_plan plan;
    step_shards shards;
    model_arrays model;
    norm_arrays norm;
    gradient_arrays gradients;
    input_arrays input;
    result_arrays results;
    exchange_arrays exchange;
    peer_terms terms;
    run_part part; // of the step
    step_graphs graphs;
    step_clock clock;
    comm_place place;
    bool step_waits; // step prepared but not sent: it goes with its update (step.c)
};

// The shards that kernels work on in this run.
static inline cut cuda_cut(const engine *e) {
    return (cut){e->shards.run_first, e->shards.run_end, e->plan.lanes, e->input.device.count};
}

// Waits for the reductions under way, and then for the device. Nothing may wait for the engine's
// stream by other means while a reduction is under way.
static inline status cuda_sync(const engine *e, error *err) {
    const status rc = cuda_finish_reductions(&e->place, err);
    return rc == STATUS_OK ? cuda_device_sync(&e->device, err) : rc;
}

// operations.c: enqueues work on the local shards [run_first, run_end). `reducing`: and reduces
// each bucket after the operation that completes it.
status cuda_run_operations(engine *e, int first, int end, bool reducing, error *err) MUST_CHECK;
void cuda_prepare_inference(const engine *e); // running statistics to scale and shift
status cuda_run_inference(const engine *e, error *err) MUST_CHECK;
status cuda_run_update(engine *e, error *err) MUST_CHECK;
// Adds the floats [first, end) of this engine's gradient buffers along its part of the tree, into
// `sums`.
status cuda_sum_gradients(const engine *e, size_t first, size_t end, launch_stream s,
                          error *err) MUST_CHECK;

// layers.c: unfused layers.
void cuda_unfused(const engine *e, const cut *c, const cuda_unit *u, bool training);
void cuda_unfused_backward(const engine *e, const cut *c, const cuda_unit *u);

// input.c
// Fits the tree and the counts to a batch, and fills the host's block.
status cuda_tell(engine *e, const batch *b, error *err) MUST_CHECK;
// The same, and sends it to the device.
status cuda_prepare(engine *e, const batch *b, error *err) MUST_CHECK;
// Sends the host's block to the device, with or without the images at its end: cuda_input_bytes()
// bytes. Work enqueued afterwards can read it.
size_t cuda_input_bytes(const input_arrays *in, bool images);
status cuda_send(engine *e, bool images, error *err) MUST_CHECK;

// graphs.c
// The operations of a piece's graph, and one before and one after them that exchange with others.
typedef struct operations_of {
    int first, end;
    bool receives, sends; // `first`, and the last one
} operations_of;

operations_of cuda_operations_of(const step_plan *p, piece of);
status cuda_run_piece(engine *e, piece p, error *err) MUST_CHECK;
void cuda_forget_graphs(engine *e);

// step.c
// Sends and runs a step that waits for its update, for a call that comes in between.
status cuda_run_waiting(engine *e, error *err) MUST_CHECK;
// For the table:
status cuda_run(engine *e, const batch *b, const run_part *part, error *err) MUST_CHECK;
status cuda_update_step(engine *e, const update_rule *rule, update_result *result,
                        error *err) MUST_CHECK;
status cuda_collect(engine *e, update_result *results, int count, error *err) MUST_CHECK;
float *const *cuda_gradients(engine *e, int *count);
float *cuda_reduced(engine *e);
status cuda_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                  error *err) MUST_CHECK;

// exchange.c: operations that take an array of `features` from the blocks of the part's input, or
// give it to those of the output.
status cuda_receive_blocks(const engine *e, const cut *c, size_t features, float *to,
                           error *err) MUST_CHECK;
status cuda_send_blocks(const engine *e, const cut *c, size_t features, const float *from,
                        error *err) MUST_CHECK;
// For the table:
void cuda_loss_of_all(engine *e, const batch *whole, float *logits, float *losses);

// peers.c, for the table
float *cuda_allocate(engine *e, size_t floats, error *err);
status cuda_copy(engine *e, const engine_copy *copies, int count, error *err) MUST_CHECK;
const char *cuda_connect(engine *const *engines, int count);
status cuda_reduce_engines(engine *const *engines, int count, bool exact, error *err) MUST_CHECK;

#endif
