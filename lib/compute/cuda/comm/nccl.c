// SPDX-License-Identifier: MIT
// Reduction of a step on the devices, by NCCL: for ranks with one GPU each.
//
// **Exact.** Ranks exchange the slices of all terms (cuda_comm.h):
//
//     send and receive    slice q of every term goes to rank q
//     reduce.cu           rank q adds its slice of the terms, along the tree
//     all-gather          the slices become the reduced gradient buffer
//
// Each float is added by one rank, in the tree's order: the bits of comm_shm.c.
//
// **Fast.** Each rank adds its own vectors in order; ncclAllReduce does the rest in an order of its
// own, which depends on NCCL, the machine and the length of a bucket. Capture does not affect it
// here, according to the source of 2.28 and 2.30. The cutting of messages depends on capture if the
// capture registers buffers (register/coll_reg.cc), but buffers that are reduced in place are not
// registered, nor, for NVLink SHARP, memory from cudaMalloc (transport/nvls.cc). The choice of
// algorithm depends on it only with a tuner plugin (getAlgoInfo, enqueue.cc), which NCCL informs of
// it.
//
// **Waiting.** NCCL waits for other ranks when it starts, when a connection is first used, and in
// its kernels. So the communicator is non-blocking: its calls return at once, and waiting.c
// waits. Until NCCL reports that a group of calls is in the stream, nothing may be enqueued or
// captured after it, and a capture must not end.
//
// **Graphs.** The choice to capture calls, and the launch of a graph that contains calls, are
// collective (NCCL's manual, "Using NCCL with CUDA Graphs"): all ranks have made the same number of
// steps with batches of the same shape, so they choose alike. An aborted communicator waits until
// no graph holds calls of it (commDestroySync in its source), and so does one that is destroyed: so
// the graphs are destroyed first.
#include <nccl.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/comm/cuda_comm.h"
#include "compute/cuda/device/opened.h"

enum {
    FAILURE_MS = 1000, // how long to wait for the other ranks' reason for a remote failure
    FAILURE_STEP_MS = 10,
};

typedef struct nccl {
    ncclComm_t comm; // NULL: given up
    float *received; // [terms][slice]: this rank's slice of each term
    size_t room;     // floats in `received`
} nccl;

static nccl *own(const cuda_comm *c) {
    return c->own;
}

// ---- Failing and waiting ----

// If NCCL will never be idle (graphs.c), the communicator is left as it is.
static void abort_comm(cuda_comm *c) {
    nccl *n = own(c);
    if (!n || !n->comm || c->device->stuck) return;
    cuda_forget_graphs(c->engine);
    (void)ncclCommAbort(n->comm);
    n->comm = NULL;
}

// NCCL may notice a dead rank before the other ranks do, but it cannot tell which rank died, or
// why.
static status check_others(const engine_comm *ranks, error *err) {
    status rc = ranks->alive(ranks->context, err);
    for (int waited = 0; rc == STATUS_OK && waited < FAILURE_MS; waited += FAILURE_STEP_MS) {
        cuda_comm_nap(FAILURE_STEP_MS * 1000000L);
        rc = ranks->alive(ranks->context, err);
    }
    return rc;
}

// NCCL returned `code` during `what`.
static status fail(const cuda_comm *c, const char *what, ncclResult_t code, error *err) {
    const bool others = code == ncclRemoteError || code == ncclSystemError;
    NEED(others ? check_others(&c->ranks, err) : STATUS_OK);
    const char *detail = ncclGetLastError(own(c)->comm);
    return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s): %s: NCCL: %s%s%s",
                     c->device->index, c->device->name, what, ncclGetErrorString(code),
                     detail && *detail ? ": " : "", detail ? detail : "");
}

static bool is_good(ncclResult_t code) {
    return code == ncclSuccess || code == ncclInProgress;
}

static status check(const cuda_comm *c, ncclResult_t code, const char *what, error *err) {
    return is_good(code) ? STATUS_OK : fail(c, what, code, err);
}

// Has NCCL enqueued its work in the stream?
static status check_enqueued(const cuda_comm *c, const char *what, bool *done, error *err) {
    ncclResult_t state;
    *done = false;
    NEED(check(c, ncclCommGetAsyncError(own(c)->comm, &state), what, err));
    NEED(check(c, state, what, err));
    *done = state != ncclInProgress;
    return STATUS_OK;
}

static status look(const cuda_comm *c, const char *what, bool *done, error *err) {
    status rc = check_enqueued(c, what, done, err);
    return rc == STATUS_OK && *done ? cuda_comm_look_at_stream(c, what, done, err) : rc;
}

static status wait_for_nccl(cuda_comm *c, const char *what, error *err) {
    return cuda_comm_wait(c, check_enqueued, what, err);
}

// ---- Joining and leaving ----

// Decides by the cards, which all ranks hold: so all reach the same answer.
static status check_cards(const cuda_comm *c, const comm_card *cards, error *why) {
    const size_t size = (size_t)c->ranks.size;
    for (size_t r = 0; r < size; r++) {
        if (!cards[r].nccl || !cards[r].has_device)
            return error_set(why, STATUS_FAILED, "rank %zu has no NCCL", r);
        for (size_t other = 0; other < r; other++)
            if (memcmp(cards[r].device, cards[other].device, sizeof cards[r].device) == 0)
                return error_set(why, STATUS_FAILED, "ranks %zu and %zu share a GPU", other, r);
    }
    return STATUS_OK;
}

// Sent by rank 0 to the others.
typedef struct invitation {
    ncclUniqueId id; // of a new communicator
    ncclResult_t code;
} invitation;

// All ranks get the same answer: the invitation of rank 0.
static status invite(const cuda_comm *c, invitation *from_first, error *err) {
    const engine_comm *ranks = &c->ranks;
    invitation mine, *all = memory_new((size_t)ranks->size, sizeof *all);
    memset(&mine, 0, sizeof mine);
    if (ranks->rank == 0) mine.code = ncclGetUniqueId(&mine.id);
    status rc = ranks->all_gather(ranks->context, &mine, sizeof mine, all, err);
    *from_first = all[0];
    free(all);
    return rc;
}

static status join(cuda_comm *c, const comm_card *cards, bool *joined, error *why, error *err) {
    static const char what[] = "joining a group";
    const engine_comm *ranks = &c->ranks;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    invitation first;
    if (check_cards(c, cards, why) != STATUS_OK) return STATUS_OK;
    NEED(invite(c, &first, err));
    if (first.code != ncclSuccess) {
        (void)error_set(why, STATUS_FAILED, "NCCL: %s", ncclGetErrorString(first.code));
        return STATUS_OK;
    }
    nccl *n = memory_new(1, sizeof *n);
    c->own = n;
    config.blocking = 0;
    NEED(check(c, ncclCommInitRankConfig(&n->comm, ranks->size, first.id, ranks->rank, &config),
               what, err));
    NEED(wait_for_nccl(c, what, err));
    *joined = true;
    return STATUS_OK;
}

// Finalizing waits for the other ranks; destroying does not.
static status part(cuda_comm *c, error *err) {
    static const char what[] = "leaving a group";
    nccl *n = own(c);
    cuda_forget_graphs(c->engine);
    NEED(check(c, ncclCommFinalize(n->comm), what, err));
    NEED(wait_for_nccl(c, what, err));
    NEED(check(c, ncclCommDestroy(n->comm), what, err));
    n->comm = NULL;
    return STATUS_OK;
}

// Aborts the communicator, if there still is one, instead of destroying it, which would wait for
// ranks that may be dead.
static void leave(cuda_comm *c) {
    abort_comm(c);
    free(c->own);
    c->own = NULL;
}

// ---- The exact reduction ----

// The number of terms grows only once or twice in an engine's lifetime: memory that has become too
// small is not freed before the engine's end. Buckets are reduced one after another and share the
// memory.
static status prepare(cuda_comm *c, error *err) {
    nccl *n = own(c);
    const size_t floats = (size_t)c->first_term[c->ranks.size] * cuda_comm_whole(c).each;
    if (!c->exact || floats <= n->room) return STATUS_OK;
    n->room = floats;
    return cuda_take(c->device, floats * sizeof(float), &n->received, err);
}

static ncclResult_t send_and_receive(const cuda_comm *c, const slices *b, cudaStream_t s) {
    const nccl *n = own(c);
    const int size = c->ranks.size, rank = c->ranks.rank;
    const size_t mine = cuda_slice(b, rank);
    const float *from = c->gradients->sums + b->first;
    ncclResult_t code = ncclGroupStart();
    if (code != ncclSuccess) return code;
    for (int q = 0; q < size; q++, from += b->each)
        for (int k = 0; k < c->shards->cover_count && cuda_slice(b, q) > 0 && is_good(code); k++)
            code = ncclSend(from + (size_t)k * c->gradients->stride, cuda_slice(b, q), ncclFloat, q,
                            n->comm, s);
    for (int r = 0; r < size; r++)
        for (int t = c->first_term[r]; t < c->first_term[r + 1] && mine > 0; t++)
            if (is_good(code))
                code = ncclRecv(n->received + (size_t)t * b->each, mine, ncclFloat, r, n->comm, s);
    const ncclResult_t end = ncclGroupEnd();
    return is_good(code) ? end : code;
}

static status add_terms(const cuda_comm *c, const slices *b, float *out, launch_stream s,
                        error *err) {
    const cut all = {.end = c->first_term[c->ranks.size]};
    const reduce_task t = {.gradients = {own(c)->received, b->each},
                           .merges = c->merges,
                           .n = cuda_slice(b, c->ranks.rank),
                           .out = out,
                           .out_stride = b->each};
    cuda_reduce(s, &all, &t);
    return cuda_check(c->device, cudaGetLastError(), "launching the sum of all ranks' records",
                      err);
}

static status reduce_exact(cuda_comm *c, const slices *b, launch_stream s, error *err) {
    static const char exchanging[] = "exchanging slices", gathering[] = "gathering slices";
    float *const sums = c->gradients->sums + b->first;
    float *const mine = sums + (size_t)c->ranks.rank * b->each;
    NEED(check(c, send_and_receive(c, b, s.stream), exchanging, err));
    NEED(wait_for_nccl(c, exchanging, err));
    NEED(add_terms(c, b, mine, s, err));
    // At the end of the gradient buffer the last slices may extend past it: cuda_slice_margin().
    NEED(check(c, ncclAllGather(mine, sums, b->each, ncclFloat, own(c)->comm, s.stream), gathering,
               err));
    return wait_for_nccl(c, gathering, err);
}

// ---- The fast reduction ----

static status reduce_fast(cuda_comm *c, const slices *b, launch_stream s, error *err) {
    static const char what[] = "reducing";
    float *const sums = c->gradients->sums + b->first;
    NEED(cuda_comm_add_own(c, b, s, err));
    NEED(check(
        c, ncclAllReduce(sums, sums, b->end - b->first, ncclFloat, ncclSum, own(c)->comm, s.stream),
        what, err));
    return wait_for_nccl(c, what, err);
}

// Our kernels do not follow NCCL's early (device.cuh).
static status reduce(cuda_comm *c, const slices *b, launch_stream s, error *err) {
    launch_after_other(s);
    s.after_kernel = NULL;
    return c->exact ? reduce_exact(c, b, s, err) : reduce_fast(c, b, s, err);
}

const comm_transport cuda_nccl = {.name = "nccl",
                                  .available = cuda_has_nccl,
                                  .graphable = true,
                                  .join = join,
                                  .prepare = prepare,
                                  .reduce = reduce,
                                  .look = look,
                                  .listen = check_enqueued,
                                  .part = part,
                                  .abort_comm = abort_comm,
                                  .leave = leave};
