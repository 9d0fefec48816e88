// SPDX-License-Identifier: MIT
// Reduction of a step on the devices, by NCCL: for ranks with one GPU each.
//
// **Exact.** Ranks exchange the slices of all terms (group.h):
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
// its kernels. So the communicator is non-blocking: its calls return at once, and group.c waits.
// Until NCCL reports that a group of calls is in the stream, nothing may be enqueued or captured
// after it, and a capture must not end.
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
#include "compute/cuda/device/opened.h"
#include "compute/cuda/group/group.h"

enum {
    FAILURE_MS = 1000, // how long to wait for the group's reason for a remote failure
    FAILURE_STEP_MS = 10,
};

typedef struct nccl {
    ncclComm_t comm; // NULL: given up
    float *received; // [terms][slice]: this rank's slice of each term
    size_t room;     // floats in `received`
} nccl;

static nccl *own(const cuda_group *g) {
    return g->own;
}

// ---- Failing and waiting ----

// If NCCL will never be idle (graphs.c), the communicator is left as it is.
static void abort_group(cuda_group *g) {
    nccl *n = own(g);
    if (!n || !n->comm || g->device->stuck) return;
    cuda_forget_graphs(g->engine);
    (void)ncclCommAbort(n->comm);
    n->comm = NULL;
}

// NCCL may notice a dead rank before the group does, but it cannot tell which rank died, or why.
static status check_others(const engine_group *member, error *err) {
    status rc = member->alive(member->context, err);
    for (int waited = 0; rc == STATUS_OK && waited < FAILURE_MS; waited += FAILURE_STEP_MS) {
        cuda_group_nap(FAILURE_STEP_MS * 1000000L);
        rc = member->alive(member->context, err);
    }
    return rc;
}

// NCCL returned `code` during `what`.
static status fail(const cuda_group *g, const char *what, ncclResult_t code, error *err) {
    const bool others = code == ncclRemoteError || code == ncclSystemError;
    status rc = others ? check_others(&g->member, err) : STATUS_OK;
    if (rc != STATUS_OK) return rc;
    const char *detail = ncclGetLastError(own(g)->comm);
    return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s): %s: NCCL: %s%s%s",
                     g->device->index, g->device->name, what, ncclGetErrorString(code),
                     detail && *detail ? ": " : "", detail ? detail : "");
}

static bool is_good(ncclResult_t code) {
    return code == ncclSuccess || code == ncclInProgress;
}

static status check(const cuda_group *g, ncclResult_t code, const char *what, error *err) {
    return is_good(code) ? STATUS_OK : fail(g, what, code, err);
}

// Has NCCL enqueued its work in the stream?
static status check_enqueued(const cuda_group *g, const char *what, bool *done, error *err) {
    ncclResult_t state;
    status rc;
    *done = false;
    TRY(check(g, ncclCommGetAsyncError(own(g)->comm, &state), what, err));
    TRY(check(g, state, what, err));
    *done = state != ncclInProgress;
out:
    return rc;
}

static status look(const cuda_group *g, const char *what, bool *done, error *err) {
    status rc = check_enqueued(g, what, done, err);
    return rc == STATUS_OK && *done ? cuda_group_look_at_stream(g, what, done, err) : rc;
}

static status wait_for_nccl(cuda_group *g, const char *what, error *err) {
    return cuda_group_wait(g, check_enqueued, what, err);
}

// ---- Joining and leaving ----

// Decides by the cards, which all ranks hold: so all reach the same answer.
static status check_cards(const cuda_group *g, const group_card *cards, error *why) {
    const size_t size = (size_t)g->member.size;
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
    ncclUniqueId id; // of a new group
    ncclResult_t code;
} invitation;

// All ranks get the same answer: the invitation of rank 0.
static status invite(const cuda_group *g, invitation *from_first, error *err) {
    const engine_group *member = &g->member;
    invitation mine, *all = memory_new((size_t)member->size, sizeof *all);
    memset(&mine, 0, sizeof mine);
    if (member->rank == 0) mine.code = ncclGetUniqueId(&mine.id);
    status rc = member->all_gather(member->context, &mine, sizeof mine, all, err);
    *from_first = all[0];
    free(all);
    return rc;
}

static status join(cuda_group *g, const group_card *cards, bool *joined, error *why, error *err) {
    static const char what[] = "joining a group";
    const engine_group *member = &g->member;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    invitation first;
    status rc = STATUS_OK;
    if (check_cards(g, cards, why) != STATUS_OK) return rc;
    TRY(invite(g, &first, err));
    if (first.code != ncclSuccess) {
        (void)error_set(why, STATUS_FAILED, "NCCL: %s", ncclGetErrorString(first.code));
        return rc;
    }
    nccl *n = memory_new(1, sizeof *n);
    g->own = n;
    config.blocking = 0;
    TRY(check(g, ncclCommInitRankConfig(&n->comm, member->size, first.id, member->rank, &config),
              what, err));
    TRY(wait_for_nccl(g, what, err));
    *joined = true;
out:
    return rc;
}

// Finalizing waits for the other ranks; destroying does not.
static status part(cuda_group *g, error *err) {
    static const char what[] = "leaving a group";
    nccl *n = own(g);
    status rc;
    cuda_forget_graphs(g->engine);
    TRY(check(g, ncclCommFinalize(n->comm), what, err));
    TRY(wait_for_nccl(g, what, err));
    TRY(check(g, ncclCommDestroy(n->comm), what, err));
    n->comm = NULL;
out:
    return rc;
}

// Aborts the communicator, if there still is one, instead of destroying it, which would wait for
// ranks that may be dead.
static void leave(cuda_group *g) {
    abort_group(g);
    free(g->own);
    g->own = NULL;
}

// ---- The exact reduction ----

// The number of terms grows only once or twice in an engine's lifetime: memory that has become too
// small is not freed before the engine's end. Buckets are reduced one after another and share the
// memory.
static status prepare(cuda_group *g, error *err) {
    nccl *n = own(g);
    const size_t floats = (size_t)g->first_term[g->member.size] * cuda_group_whole(g).each;
    if (!g->exact || floats <= n->room) return STATUS_OK;
    n->room = floats;
    return cuda_take(g->device, floats * sizeof(float), &n->received, err);
}

static ncclResult_t send_and_receive(const cuda_group *g, const slices *b, cudaStream_t s) {
    const nccl *n = own(g);
    const int size = g->member.size, rank = g->member.rank;
    const size_t mine = cuda_slice(b, rank);
    const float *from = g->gradients->sums + b->first;
    ncclResult_t code = ncclGroupStart();
    if (code != ncclSuccess) return code;
    for (int q = 0; q < size; q++, from += b->each)
        for (int k = 0; k < g->shards->cover_count && cuda_slice(b, q) > 0 && is_good(code); k++)
            code = ncclSend(from + (size_t)k * g->gradients->stride, cuda_slice(b, q), ncclFloat, q,
                            n->comm, s);
    for (int r = 0; r < size; r++)
        for (int t = g->first_term[r]; t < g->first_term[r + 1] && mine > 0; t++)
            if (is_good(code))
                code = ncclRecv(n->received + (size_t)t * b->each, mine, ncclFloat, r, n->comm, s);
    const ncclResult_t end = ncclGroupEnd();
    return is_good(code) ? end : code;
}

static status add_terms(const cuda_group *g, const slices *b, float *out, launch_stream s,
                        error *err) {
    const cut c = {.end = g->first_term[g->member.size]};
    const reduce_task t = {.gradients = {own(g)->received, b->each},
                           .merges = g->merges,
                           .n = cuda_slice(b, g->member.rank),
                           .out = out,
                           .out_stride = b->each};
    cuda_reduce(s, &c, &t);
    return cuda_check(g->device, cudaGetLastError(), "launching the sum of all ranks' records",
                      err);
}

static status reduce_exact(cuda_group *g, const slices *b, launch_stream s, error *err) {
    static const char exchanging[] = "exchanging slices", gathering[] = "gathering slices";
    float *const sums = g->gradients->sums + b->first;
    float *const mine = sums + (size_t)g->member.rank * b->each;
    status rc;
    TRY(check(g, send_and_receive(g, b, s.stream), exchanging, err));
    TRY(wait_for_nccl(g, exchanging, err));
    TRY(add_terms(g, b, mine, s, err));
    // At the end of the gradient buffer the last slices may extend past it: cuda_slice_margin().
    TRY(check(g, ncclAllGather(mine, sums, b->each, ncclFloat, own(g)->comm, s.stream), gathering,
              err));
    TRY(wait_for_nccl(g, gathering, err));
out:
    return rc;
}

// ---- The fast reduction ----

static status reduce_fast(cuda_group *g, const slices *b, launch_stream s, error *err) {
    static const char what[] = "reducing";
    float *const sums = g->gradients->sums + b->first;
    status rc;
    TRY(cuda_group_add_own(g, b, s, err));
    TRY(check(
        g, ncclAllReduce(sums, sums, b->end - b->first, ncclFloat, ncclSum, own(g)->comm, s.stream),
        what, err));
    TRY(wait_for_nccl(g, what, err));
out:
    return rc;
}

// Our kernels do not follow NCCL's early (device.cuh).
static status reduce(cuda_group *g, const slices *b, launch_stream s, error *err) {
    launch_after_other(s);
    s.after_kernel = NULL;
    return g->exact ? reduce_exact(g, b, s, err) : reduce_fast(g, b, s, err);
}

const group_transport cuda_nccl = {.name = "nccl",
                                   .available = cuda_has_nccl,
                                   .graphable = true,
                                   .join = join,
                                   .prepare = prepare,
                                   .reduce = reduce,
                                   .look = look,
                                   .listen = check_enqueued,
                                   .part = part,
                                   .abort_group = abort_group,
                                   .leave = leave};
