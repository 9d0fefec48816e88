// SPDX-License-Identifier: MIT
// Reduction of a step in device memory that the ranks of one host open to each other by CUDA IPC:
// for ranks that share a GPU, and for GPUs without NCCL.
//
//     every rank's gradient buffers are complete   (event `ready`)
//     -- barrier --
//     reduce.cu    rank r reads slice r of all ranks' terms, in place, and adds them in
//                  order; the sum replaces slice r of its own first gradient buffer
//                                                (event `summed`)
//     -- barrier --
//     reduce.cu    every rank copies the others' slices into its own first gradient buffer
//     -- wait for the stream; barrier --
//
// At a barrier, ranks meet on the host, so that every rank has recorded its event; then each stream
// waits for the other ranks' events. **Exact** uses the order of the tree, so the bits are those of
// comm_shm.c. **Fast**: each rank adds its own vectors first; the result is one term per rank, and
// these are added in rank order.
//
// **Nothing is overwritten while another rank still reads it.** Before the second barrier rank r
// writes slice r of its own first gradient buffer, which no other rank reads until then. After it,
// r writes the other slices of its own first gradient buffer. Their owners have read them already,
// because r waited for their `summed` events; the other ranks now read only slice r, which is not
// written again. When the reduction returns, the third barrier is over: every rank's stream is done
// with every rank's gradient buffers, and the next step may write its own. The same holds for the
// events: one is recorded again only after every rank has waited for it.
//
// **Nothing is freed while another rank has it open.** Ranks that leave together close each other's
// gradient buffers, and meet, before any of them frees its own. A rank that leaves alone, after a
// failure, frees nothing.
//
// **Waiting.** A stream that waits for the event of a dead process never finishes, and so would any
// call that waits for this stream: then the engine is `stuck`, and cuda_close leaves its resources.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/comm/cuda_comm.h"

typedef enum milestone { READY, SUMMED, MILESTONES } milestone;

// This rank's own objects, or another rank's as opened here.
typedef struct peer {
    float *sums; // its gradient buffers
    cudaEvent_t events[MILESTONES];
} peer;

typedef struct ipc {
    peer *peers; // [size]
    // [V]: this rank's slices of the vectors it adds; then [size]: all ranks' first gradient
    // buffers.
    const float **places_host, **places;
    bool places_changed; // on the host, since they were last sent
    bool waits;          // does the stream wait for other ranks?
    bool shared;         // may other ranks have this rank's gradient buffers open?
} ipc;

static ipc *own(const cuda_comm *c) {
    return c->own;
}

// ---- What ranks exchange ----

enum { WHY_BYTES = 256 };

typedef struct verdict {
    bool able;
    char why[WHY_BYTES]; // reason, if not able
} verdict;

typedef struct offer {
    verdict verdict;
    cudaIpcMemHandle_t sums;
    cudaIpcEventHandle_t events[MILESTONES];
} offer;

static void set_verdict(verdict *v, status rc, const error *err) {
    v->able = rc == STATUS_OK;
    if (!v->able) snprintf(v->why, sizeof v->why, "%.255s", err->message);
    (void)cudaGetLastError(); // a rank that cannot share memory still computes
}

// Verdicts lie `stride` bytes apart, one per rank.
static bool all_able(const void *verdicts, size_t stride, int size, error *why) {
    for (int r = 0; r < size; r++) {
        const verdict *v =
            (const verdict *)(const void *)((const char *)verdicts + (size_t)r * stride);
        if (v->able) continue;
        (void)error_set(why, STATUS_FAILED, "rank %d: %s", r, v->why);
        return false;
    }
    return true;
}

// ---- Joining and leaving ----

static status make_offer(cuda_comm *c, offer *o, error *err) {
    peer *mine = &own(c)->peers[c->ranks.rank];
    NEED(cuda_check(c->device, cudaIpcGetMemHandle(&o->sums, c->gradients->sums), "sharing memory",
                    err));
    mine->sums = c->gradients->sums;
    for (int m = 0; m < MILESTONES; m++) {
        NEED(cuda_check(c->device,
                        cudaEventCreateWithFlags(&mine->events[m],
                                                 cudaEventInterprocess | cudaEventDisableTiming),
                        "creating an event", err));
        NEED(cuda_check(c->device, cudaIpcGetEventHandle(&o->events[m], mine->events[m]),
                        "sharing an event", err));
    }
    return STATUS_OK;
}

static status accept_offer(const cuda_comm *c, const offer *o, peer *p, error *err) {
    void *sums = NULL;
    NEED(cuda_check(c->device, cudaIpcOpenMemHandle(&sums, o->sums, cudaIpcMemLazyEnablePeerAccess),
                    "opening memory of another rank", err));
    p->sums = sums;
    for (int m = 0; m < MILESTONES; m++)
        NEED(cuda_check(c->device, cudaIpcOpenEventHandle(&p->events[m], o->events[m]),
                        "opening an event of another rank", err));
    return STATUS_OK;
}

static status accept_all(const cuda_comm *c, const offer *offers, error *err) {
    const engine_comm *ranks = &c->ranks;
    ipc *i = own(c);
    for (int r = 0; r < ranks->size; r++) {
        status rc = STATUS_OK;
        if (r != ranks->rank) rc = accept_offer(c, &offers[r], &i->peers[r], err);
        if (rc != STATUS_OK) return rc;
        i->places_host[c->shards->count + r] = i->peers[r].sums;
    }
    i->places_changed = true;
    return STATUS_OK;
}

// A rank that fails in one of the two still takes part, so that no rank waits in vain.
static status agree(cuda_comm *c, offer *offers, verdict *verdicts, bool *joined, error *why,
                    error *err) {
    const engine_comm *ranks = &c->ranks;
    offer mine;
    verdict mine_opened;
    error reason = {0};
    memset(&mine, 0, sizeof mine);
    memset(&mine_opened, 0, sizeof mine_opened);
    set_verdict(&mine.verdict, make_offer(c, &mine, &reason), &reason);
    NEED(ranks->all_gather(ranks->context, &mine, sizeof mine, offers, err));
    own(c)->shared = all_able(offers, sizeof *offers, ranks->size, why);
    if (!own(c)->shared) return STATUS_OK;
    set_verdict(&mine_opened, accept_all(c, offers, &reason), &reason);
    NEED(ranks->all_gather(ranks->context, &mine_opened, sizeof mine_opened, verdicts, err));
    own(c)->shared = *joined = all_able(verdicts, sizeof *verdicts, ranks->size, why);
    return STATUS_OK;
}

static status take_memory(cuda_comm *c, ipc *i, error *err) {
    const size_t size = (size_t)c->ranks.size, places = (size_t)c->shards->count + size;
    i->peers = memory_new(size, sizeof *i->peers);
    NEED(cuda_take(c->device, places * sizeof *i->places, &i->places, err));
    return cuda_take_host(c->device, places * sizeof *i->places, &i->places_host, err);
}

static status join(cuda_comm *c, const comm_card *cards, bool *joined, error *why, error *err) {
    const size_t size = (size_t)c->ranks.size;
    offer *offers = memory_new(size, sizeof *offers);
    verdict *verdicts = memory_new(size, sizeof *verdicts);
    ipc *i = memory_new(1, sizeof *i);
    status rc = STATUS_OK;
    (void)cards;
    c->own = i; // leave() frees it
    TRY(take_memory(c, i, err));
    TRY(agree(c, offers, verdicts, joined, why, err));
out:
    free(offers);
    free(verdicts);
    return rc;
}

static void abort_comm(cuda_comm *c) {
    const ipc *i = own(c);
    if (!i || !i->waits) return;
    c->device->stuck = cudaStreamQuery(c->device->stream) == cudaErrorNotReady;
    (void)cudaGetLastError();
}

static void close_peer(peer *p, bool foreign) {
    if (foreign && p->sums) (void)cudaIpcCloseMemHandle(p->sums);
    for (int m = 0; m < MILESTONES; m++)
        if (p->events[m]) (void)cudaEventDestroy(p->events[m]);
    *p = (peer){.sums = NULL};
}

static void close_peers(cuda_comm *c, bool foreign) {
    const ipc *i = own(c);
    for (int r = 0; i->peers && r < c->ranks.size; r++)
        if ((r != c->ranks.rank) == foreign) close_peer(&i->peers[r], foreign);
}

static status part(cuda_comm *c, error *err) {
    (void)err;
    close_peers(c, true);
    own(c)->shared = false;
    return STATUS_OK;
}

static void leave(cuda_comm *c) {
    ipc *i = own(c);
    if (!i) return;
    c->device->stuck |= i->shared;
    for (int foreign = 0; foreign < 2 && !c->device->stuck; foreign++) close_peers(c, foreign);
    free(i->peers);
    free(i);
    c->own = NULL;
}

// ---- Barriers ----

// Work enqueued after this runs once all ranks' streams have reached it.
static status wait_for_ranks(cuda_comm *c, milestone m, error *err) {
    ipc *i = own(c);
    const int size = c->ranks.size, rank = c->ranks.rank;
    NEED(cuda_check(c->device, cudaEventRecord(i->peers[rank].events[m], c->device->stream),
                    "recording an event", err));
    NEED(cuda_comm_barrier(c, err));
    i->waits = true;
    launch_after_other(cuda_main(c->device));
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        NEED(cuda_check(c->device, cudaStreamWaitEvent(c->device->stream, i->peers[r].events[m], 0),
                        "waiting for another rank", err));
    }
    return STATUS_OK;
}

static status settle(cuda_comm *c, error *err) {
    own(c)->waits = false; // the stream was waited for
    return cuda_comm_barrier(c, err);
}

// ---- The reduction ----

static void set_place(cuda_comm *c, int k, const float *place) {
    ipc *i = own(c);
    i->places_changed |= i->places_host[k] != place;
    i->places_host[k] = place;
}

// Sets the address of this rank's slice of every term.
static void find_terms(cuda_comm *c, const slices *b) {
    for (int r = 0; r < c->ranks.size; r++) {
        const float *slice = own(c)->peers[r].sums + (size_t)c->ranks.rank * b->each;
        for (int t = c->first_term[r]; t < c->first_term[r + 1]; t++, slice += c->gradients->stride)
            set_place(c, t, slice);
    }
}

// ... and of every rank's first gradient buffer.
static void find_first_gradients(cuda_comm *c, const slices *b) {
    for (int r = 0; r < c->ranks.size; r++)
        set_place(c, r, own(c)->peers[r].sums + (size_t)c->ranks.rank * b->each);
}

static status send_places(cuda_comm *c, error *err) {
    ipc *i = own(c);
    const size_t count = (size_t)(c->shards->count + c->ranks.size);
    if (!i->places_changed) return STATUS_OK;
    i->places_changed = false;
    return cuda_enqueue_copy(c->device, i->places, i->places_host, count * sizeof *i->places,
                             cudaMemcpyHostToDevice, "sending the places of records", err);
}

// Adds the slices of `vectors` vectors, with these merges.
static status add_slices(cuda_comm *c, const slices *b, int vectors, const int *merges,
                         error *err) {
    const cut all = {.end = vectors};
    const reduce_task t = {.places = own(c)->places,
                           .merges = merges,
                           .n = cuda_slice(b, c->ranks.rank),
                           .out = c->gradients->sums + (size_t)c->ranks.rank * b->each,
                           .out_stride = b->each};
    cuda_reduce(cuda_main(c->device), &all, &t);
    return cuda_check(c->device, cudaGetLastError(), "launching the sum of all ranks' records",
                      err);
}

static status sum_exact(cuda_comm *c, const slices *b, error *err) {
    find_terms(c, b);
    NEED(send_places(c, err));
    NEED(wait_for_ranks(c, READY, err));
    return add_slices(c, b, c->first_term[c->ranks.size], c->merges, err);
}

static status sum_fast(cuda_comm *c, const slices *b, error *err) {
    find_first_gradients(c, b);
    NEED(send_places(c, err));
    NEED(cuda_comm_add_own(c, b, cuda_main(c->device), err));
    NEED(wait_for_ranks(c, READY, err));
    return add_slices(c, b, c->ranks.size, c->merges + c->shards->count, err);
}

static status gather_slices(cuda_comm *c, const slices *b, error *err) {
    const slices_task t = {.places = own(c)->places + c->shards->count,
                           .slices = c->ranks.size,
                           .own = c->ranks.rank,
                           .slice = b->each,
                           .n = b->end,
                           .out = c->gradients->sums};
    cuda_gather_slices(cuda_main(c->device), &t);
    return cuda_check(c->device, cudaGetLastError(), "launching the gathering of slices", err);
}

// Reduces the whole gradient buffer, in the engine's stream: the hosts meet, so this cannot be in a
// graph.
static status reduce(cuda_comm *c, const slices *b, launch_stream s, error *err) {
    assert(b->first == 0 && s.stream == c->device->stream);
    NEED(c->exact ? sum_exact(c, b, err) : sum_fast(c, b, err));
    NEED(wait_for_ranks(c, SUMMED, err));
    return gather_slices(c, b, err);
}

const comm_transport cuda_ipc = {.name = "cuda ipc",
                                 .join = join,
                                 .reduce = reduce,
                                 .look = cuda_comm_look_at_stream,
                                 .settle = settle,
                                 .part = part,
                                 .abort_comm = abort_comm,
                                 .leave = leave};
