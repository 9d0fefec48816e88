// SPDX-License-Identifier: MIT
// The pieces of a step, captured once as graphs and then replayed.
#include "compute/cuda/group/group.h"

void cuda_forget_graphs(engine *e) {
    e->graphs_are_old = false;
    if (e->group) e->group->captured = false;
    for (int marking = 0; marking < 2; marking++)
        for (int p = 0; p < PIECES; p++)
            for (int turn = 0; turn < STEPS_AHEAD; turn++) {
                cudaGraphExec_t *graph = &e->graphs[marking][p][turn];
                if (*graph) (void)cudaGraphExecDestroy(*graph);
                *graph = NULL;
            }
}

status cuda_sum_records(const engine *e, size_t first, size_t end, launch_stream s, error *err) {
    const cut c = cuda_cut(e);
    const reduce_task t = {.records = {e->records + first, e->stride},
                           .merges = e->device.merges,
                           .n = end - first,
                           .out = e->sums + first,
                           .out_stride = e->stride};
    if (e->sums == e->records) return STATUS_OK; // there is one shard
    cuda_reduce(s, &c, &t);
    return cuda_check(e, cudaGetLastError(), "launching the sum of records", err);
}

static status enqueue_step(engine *e, piece p, error *err) {
    status rc;
    const int end = e->operation_count, middle = e->backward_first;
    cuda_mark(e, MARK_BEGIN);
    TRY(cuda_run_operations(e, p == PIECE_BACKWARD ? middle : 0, p == PIECE_FORWARD ? middle : end,
                            err));
    if (p != PIECE_FORWARD && !e->reducing) {
        if (!e->options.stage) TRY(cuda_sum_records(e, 0, e->record, cuda_main(e), err));
        cuda_mark(e, MARK_BACKWARD);
    }
out:
    return rc;
}

static status enqueue(engine *e, piece p, error *err) {
    status rc = STATUS_OK;
    e->reducing = p == PIECE_REDUCED_STEP_AND_UPDATE;
    if (p != PIECE_UPDATE) rc = enqueue_step(e, p, err);
    e->reducing = false;
    if (rc != STATUS_OK || p < PIECE_UPDATE) return rc;
    cuda_mark(e, MARK_UPDATE);
    TRY(cuda_run_update(e, err));
out:
    return rc;
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
    if (enqueued != STATUS_OK && !cuda_group_is_idle(e)) return enqueued;
    const cudaError_t code = cudaStreamEndCapture(e->stream, graph);
    return enqueued == STATUS_OK ? cuda_check(e, code, "capturing a step", err) : enqueued;
}

// The flag gives kernels the priority of the stream that captured them; without it they have that
// of the stream in which the graph is launched ("Note that priorities are only available on kernel
// nodes, and are copied from stream priority during stream capture", cudaGraphInstantiate in CUDA's
// manual).
static status instantiate(const engine *e, cudaGraph_t graph, cudaGraphExec_t *made, error *err) {
    return cuda_check(e, cudaGraphInstantiate(made, graph, cudaGraphInstantiateFlagUseNodePriority),
                      "creating a graph", err);
}

static status capture(engine *e, piece p, cudaGraphExec_t *made, error *err) {
    cudaGraph_t graph = NULL;
    const unsigned before = e->marked;
    status rc;
    TRY(cuda_check(e, cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeThreadLocal),
                   "capturing a step", err));
    e->capturing = true;
    e->marked = 0;
    rc = enqueue(e, p, err);
    if (e->marking) e->piece_marks[p] = e->marked;
    e->marked = before;
    e->capturing = false;
    rc = end_capture(e, rc, &graph, err);
    if (rc == STATUS_OK) rc = instantiate(e, graph, made, err);
    if (graph) (void)cudaGraphDestroy(graph);
out:
    return rc;
}

// A driver that cannot capture kernels with programmatic launches (device.cuh) may capture them as
// ordinary consecutive launches: that is slower, and otherwise the same. A group that has failed
// cannot be retried.
static status make_graph(engine *e, piece p, cudaGraphExec_t *made, error *err) {
    const status rc = capture(e, p, made, err);
    if (rc == STATUS_OK || !e->programmatic || (e->group && e->group->failed)) return rc;
    e->programmatic = false;
    (void)cudaGetLastError();
    return capture(e, p, made, err);
}

// The first time, a piece runs without a graph: libraries load what they need then, which is not
// allowed in a capture. A reduction other than the captured one always runs without a graph.
static bool has_graph(engine *e, piece p) {
    const bool tried = e->tried[p];
    if (!e->graphable) return false;
    if (p == PIECE_REDUCED_STEP_AND_UPDATE && !cuda_group_fits_graph(e)) return false;
    e->tried[p] = true;
    return tried;
}

// Without a graph a step is many launches. When a stream is full of them, the next launch blocks
// the host: forever, if a rank has died. So reductions under way are waited for first.
static status run_as_it_is(engine *e, piece p, error *err) {
    status rc;
    TRY(cuda_group_finish(e, err));
    // Batch norms that meet wait for the stream during the piece.
    if (p == PIECE_REDUCED_STEP_AND_UPDATE) e->group->under_way = true;
    rc = enqueue(e, p, err);
out:
    return rc;
}

status cuda_run_piece(engine *e, piece p, error *err) {
    cudaGraphExec_t *const graph = &e->graphs[e->marking][p][cuda_turn(e)];
    status rc = STATUS_OK;
    if (e->graphs_are_old) cuda_forget_graphs(e);
    if (!has_graph(e, p)) return run_as_it_is(e, p, err);
    if (!*graph) TRY(make_graph(e, p, graph, err));
    TRY(cuda_check(e, cudaGraphLaunch(*graph, e->stream), "launching a graph", err));
    if (e->marking) e->marked |= e->piece_marks[p];
out:
    return rc;
}
