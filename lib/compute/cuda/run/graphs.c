// SPDX-License-Identifier: MIT
// The pieces of a step, captured once as graphs and then replayed.
#include "compute/cuda/run/cuda_engine.h"

void cuda_forget_graphs(engine *e) {
    e->graphs.old = false;
    e->place.captured = false;
    for (int marking = 0; marking < 2; marking++)
        for (int p = 0; p < PIECES; p++)
            for (int turn = 0; turn < STEPS_AHEAD; turn++) {
                cudaGraphExec_t *graph = &e->graphs.made[marking][p][turn];
                if (*graph) (void)cudaGraphExecDestroy(*graph);
                *graph = NULL;
            }
}

static bool exchanges(const operation *op) {
    return op->kind == OP_RECEIVE || op->kind == OP_SEND || op->kind == OP_RECEIVE_GRADIENT ||
           op->kind == OP_SEND_GRADIENT;
}

operations_of cuda_operations_of(const step_plan *p, piece of) {
    const int first = of == PIECE_BACKWARD ? p->backward : 0;
    const int end = of == PIECE_FORWARD ? p->backward : p->operation_count;
    return (operations_of){first, end, exchanges(&p->operations[first]),
                           exchanges(&p->operations[end - 1])};
}

static status enqueue_step(engine *e, piece p, error *err) {
    const operations_of o = cuda_operations_of(&e->plan.training, p);
    const bool reducing = p == PIECE_REDUCED_STEP_AND_UPDATE;
    const launch_stream s = cuda_main(&e->device);
    cuda_mark(&e->clock, MARK_BEGIN, s);
    NEED(cuda_run_operations(e, o.first + o.receives, o.end - o.sends, reducing, err));
    if (p != PIECE_FORWARD && !reducing) {
        if (!e->plan.options.stage) NEED(cuda_sum_gradients(e, 0, e->gradients.floats, s, err));
        cuda_mark(&e->clock, MARK_BACKWARD, s);
    }
    return STATUS_OK;
}

static status enqueue(engine *e, piece p, error *err) {
    if (p != PIECE_UPDATE) NEED(enqueue_step(e, p, err));
    if (p < PIECE_UPDATE) return STATUS_OK;
    cuda_mark(&e->clock, MARK_UPDATE, cuda_main(&e->device));
    return cuda_run_update(e, err);
}

// NCCL has its own thread for the calls of a non-blocking communicator (ncclGroupEndInternal in its
// group.cc). It adds nodes to the captured graph, and a hook that reports the graph's end to it
// (ncclLaunchPrepare, enqueue.cc): so the capture must not end before that thread is done. nccl.c
// waits for it after each call, except if a rank dies meanwhile; here the wait always takes place,
// for up to a second. If the thread is still at work then, it waits for the dead rank. Only
// ncclCommAbort could end that, and it would itself wait for the end of a graph that already has
// calls (commDestroySync, init.cc). So the capture stays open, and the engine's resources are left
// until the process ends.
static status end_capture(engine *e, status enqueued, cudaGraph_t *graph, error *err) {
    const comm_place *p = &e->place;
    if (enqueued != STATUS_OK && p->comm && !p->hooks->is_idle(p->comm)) return enqueued;
    const cudaError_t code = cudaStreamEndCapture(e->device.stream, graph);
    return enqueued == STATUS_OK ? cuda_check(&e->device, code, "capturing a step", err) : enqueued;
}

// The flag gives kernels the priority of the stream that captured them; without it they have that
// of the stream in which the graph is launched ("Note that priorities are only available on kernel
// nodes, and are copied from stream priority during stream capture", cudaGraphInstantiate in CUDA's
// manual).
static status instantiate(const cuda_device *d, cudaGraph_t graph, cudaGraphExec_t *made,
                          error *err) {
    return cuda_check(d, cudaGraphInstantiate(made, graph, cudaGraphInstantiateFlagUseNodePriority),
                      "creating a graph", err);
}

static status capture(engine *e, piece p, cudaGraphExec_t *made, error *err) {
    cudaGraph_t graph = NULL;
    const unsigned before = e->clock.marked;
    status rc;
    TRY(cuda_check(&e->device,
                   cudaStreamBeginCapture(e->device.stream, cudaStreamCaptureModeThreadLocal),
                   "capturing a step", err));
    cuda_launch_afresh(&e->device);
    e->clock.capturing = true;
    e->clock.marked = 0;
    rc = enqueue(e, p, err);
    if (e->clock.marking) e->graphs.marks[p] = e->clock.marked;
    e->clock.marked = before;
    e->clock.capturing = false;
    rc = end_capture(e, rc, &graph, err);
    cuda_launch_afresh(&e->device);
    if (rc == STATUS_OK) rc = instantiate(&e->device, graph, made, err);
    if (graph) (void)cudaGraphDestroy(graph);
out:
    return rc;
}

// A driver that cannot capture early launches (device.cuh) may capture serial ones: that is slower,
// and otherwise the same. A communicator that has failed cannot be retried.
static status make_graph(engine *e, piece p, cudaGraphExec_t *made, error *err) {
    const status rc = capture(e, p, made, err);
    if (rc == STATUS_OK || !e->device.after_kernel || e->place.failed) return rc;
    cuda_launch_serially(&e->device);
    (void)cudaGetLastError();
    return capture(e, p, made, err);
}

// The first time, a piece runs without a graph: libraries load what they need then, which is not
// allowed in a capture. A reduction other than the captured one always runs without a graph.
static bool has_graph(engine *e, piece p) {
    const bool tried = e->graphs.tried[p];
    if (!e->plan.graphable) return false;
    if (p == PIECE_REDUCED_STEP_AND_UPDATE && !e->place.hooks->fits_graph(e->place.comm))
        return false;
    e->graphs.tried[p] = true;
    return tried;
}

// Without a graph a step is many launches. When a stream is full of them, the next launch blocks
// the host: forever, if a rank has died. So reductions under way are waited for first.
static status run_as_it_is(engine *e, piece p, error *err) {
    NEED(cuda_finish_reductions(&e->place, err));
    // Batch norms that meet wait for the stream during the piece.
    if (p == PIECE_REDUCED_STEP_AND_UPDATE) e->place.under_way = true;
    return enqueue(e, p, err);
}

status cuda_run_piece(engine *e, piece p, error *err) {
    cudaGraphExec_t *const graph = &e->graphs.made[e->clock.marking][p][cuda_turn(&e->input)];
    if (e->graphs.old) cuda_forget_graphs(e);
    if (!has_graph(e, p)) return run_as_it_is(e, p, err);
    if (!*graph) NEED(make_graph(e, p, graph, err));
    launch_after_other(cuda_main(&e->device));
    NEED(cuda_check(&e->device, cudaGraphLaunch(*graph, e->device.stream), "launching a graph",
                    err));
    if (e->clock.marking) e->clock.marked |= e->graphs.marks[p];
    return STATUS_OK;
}
