// SPDX-License-Identifier: MIT
// Reduction of a step in device memory that the ranks of one host open to each other by CUDA IPC:
// for ranks that share a GPU, and for GPUs without NCCL.
//
//     every rank's gradient buffers are complete   (event `ready`)
//     -- meeting --
//     reduce.cu    rank r reads slice r of all ranks' terms, in place, and adds them in
//                  order; the sum replaces slice r of its own first gradient buffer
//                                                (event `summed`)
//     -- meeting --
//     reduce.cu    every rank copies the others' slices into its own first gradient buffer
//     -- wait for the stream; meeting --
//
// In a meeting, ranks meet on the host, so that every rank has recorded its event; then each stream
// waits for the other ranks' events. **Exact** uses the order of the tree, so the bits are those of
// comm_shm.c. **Fast**: each rank adds its own vectors first; the result is one term per rank, and
// these are added in rank order.
//
// **Nothing is overwritten while another rank still reads it.** Before the second meeting rank r
// writes slice r of its own first gradient buffer, which no other rank reads until then. After it,
// r writes the other slices of its own first gradient buffer. Their owners have read them already,
// because r waited for their `summed` events; the other ranks now read only slice r, which is not
// written again. When the reduction returns, the third meeting is over: every rank's stream is done
// with every rank's gradient buffers, and the next step may write its own. The same holds for the
// events: one is recorded again only after every rank has waited for it.
//
// **Nothing is freed while another rank has it open.** Ranks that leave the group together close
// each other's gradient buffers, and meet, before any of them frees its own. A rank that leaves
// alone, after a failure, frees nothing.
//
// **Waiting.** A stream that waits for the event of a dead process never finishes, and so would any
// call that waits for this stream: then the engine is `stuck`, and cuda_close leaves its resources.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/group/group.h"

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

static ipc *own(const cuda_group *g) {
    return g->own;
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

static status make_offer(cuda_group *g, offer *o, error *err) {
    peer *mine = &own(g)->peers[g->member.rank];
    status rc;
    TRY(cuda_check(g->device, cudaIpcGetMemHandle(&o->sums, g->gradients->sums), "sharing memory",
                   err));
    mine->sums = g->gradients->sums;
    for (int m = 0; m < MILESTONES; m++) {
        TRY(cuda_check(g->device,
                       cudaEventCreateWithFlags(&mine->events[m],
                                                cudaEventInterprocess | cudaEventDisableTiming),
                       "creating an event", err));
        TRY(cuda_check(g->device, cudaIpcGetEventHandle(&o->events[m], mine->events[m]),
                       "sharing an event", err));
    }
out:
    return rc;
}

static status accept_offer(const cuda_group *g, const offer *o, peer *p, error *err) {
    void *sums = NULL;
    status rc;
    TRY(cuda_check(g->device, cudaIpcOpenMemHandle(&sums, o->sums, cudaIpcMemLazyEnablePeerAccess),
                   "opening memory of another rank", err));
    p->sums = sums;
    for (int m = 0; m < MILESTONES; m++)
        TRY(cuda_check(g->device, cudaIpcOpenEventHandle(&p->events[m], o->events[m]),
                       "opening an event of another rank", err));
out:
    return rc;
}

static status accept_all(const cuda_group *g, const offer *offers, error *err) {
    const engine_group *member = &g->member;
    ipc *i = own(g);
    for (int r = 0; r < member->size; r++) {
        status rc = STATUS_OK;
        if (r != member->rank) rc = accept_offer(g, &offers[r], &i->peers[r], err);
        if (rc != STATUS_OK) return rc;
        i->places_host[g->shards->count + r] = i->peers[r].sums;
    }
    i->places_changed = true;
    return STATUS_OK;
}

// A rank that fails in one of the two still takes part, so that no rank waits in vain.
static status agree(cuda_group *g, offer *offers, verdict *verdicts, bool *joined, error *why,
                    error *err) {
    const engine_group *member = &g->member;
    offer mine;
    verdict mine_opened;
    error reason = {0};
    status rc;
    memset(&mine, 0, sizeof mine);
    memset(&mine_opened, 0, sizeof mine_opened);
    set_verdict(&mine.verdict, make_offer(g, &mine, &reason), &reason);
    TRY(member->all_gather(member->context, &mine, sizeof mine, offers, err));
    own(g)->shared = all_able(offers, sizeof *offers, member->size, why);
    if (!own(g)->shared) return rc;
    set_verdict(&mine_opened, accept_all(g, offers, &reason), &reason);
    TRY(member->all_gather(member->context, &mine_opened, sizeof mine_opened, verdicts, err));
    own(g)->shared = *joined = all_able(verdicts, sizeof *verdicts, member->size, why);
out:
    return rc;
}

static status take_memory(cuda_group *g, ipc *i, error *err) {
    const size_t size = (size_t)g->member.size, places = (size_t)g->shards->count + size;
    status rc;
    i->peers = memory_new(size, sizeof *i->peers);
    TRY(cuda_take(g->device, places * sizeof *i->places, &i->places, err));
    TRY(cuda_take_host(g->device, places * sizeof *i->places, &i->places_host, err));
out:
    return rc;
}

static status join(cuda_group *g, const group_card *cards, bool *joined, error *why, error *err) {
    const size_t size = (size_t)g->member.size;
    offer *offers = memory_new(size, sizeof *offers);
    verdict *verdicts = memory_new(size, sizeof *verdicts);
    ipc *i = memory_new(1, sizeof *i);
    status rc = STATUS_OK;
    (void)cards;
    g->own = i; // leave() frees it
    TRY(take_memory(g, i, err));
    TRY(agree(g, offers, verdicts, joined, why, err));
out:
    free(offers);
    free(verdicts);
    return rc;
}

static void abort_group(cuda_group *g) {
    const ipc *i = own(g);
    if (!i || !i->waits) return;
    g->device->stuck = cudaStreamQuery(g->device->stream) == cudaErrorNotReady;
    (void)cudaGetLastError();
}

static void close_peer(peer *p, bool foreign) {
    if (foreign && p->sums) (void)cudaIpcCloseMemHandle(p->sums);
    for (int m = 0; m < MILESTONES; m++)
        if (p->events[m]) (void)cudaEventDestroy(p->events[m]);
    *p = (peer){.sums = NULL};
}

static void close_peers(cuda_group *g, bool foreign) {
    const ipc *i = own(g);
    for (int r = 0; i->peers && r < g->member.size; r++)
        if ((r != g->member.rank) == foreign) close_peer(&i->peers[r], foreign);
}

static status part(cuda_group *g, error *err) {
    (void)err;
    close_peers(g, true);
    own(g)->shared = false;
    return STATUS_OK;
}

static void leave(cuda_group *g) {
    ipc *i = own(g);
    if (!i) return;
    g->device->stuck |= i->shared;
    for (int foreign = 0; foreign < 2 && !g->device->stuck; foreign++) close_peers(g, foreign);
    free(i->peers);
    free(i);
    g->own = NULL;
}

// ---- Meetings ----

// Work enqueued after this runs once all ranks' streams have reached it.
static status wait_for_ranks(cuda_group *g, milestone m, error *err) {
    ipc *i = own(g);
    const int size = g->member.size, rank = g->member.rank;
    status rc;
    TRY(cuda_check(g->device, cudaEventRecord(i->peers[rank].events[m], g->device->stream),
                   "recording an event", err));
    TRY(cuda_group_meet(g, err));
    i->waits = true;
    launch_after_other(cuda_main(g->device));
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        TRY(cuda_check(g->device, cudaStreamWaitEvent(g->device->stream, i->peers[r].events[m], 0),
                       "waiting for another rank", err));
    }
out:
    return rc;
}

static status settle(cuda_group *g, error *err) {
    own(g)->waits = false; // the stream was waited for
    return cuda_group_meet(g, err);
}

// ---- The reduction ----

static void set_place(cuda_group *g, int k, const float *place) {
    ipc *i = own(g);
    i->places_changed |= i->places_host[k] != place;
    i->places_host[k] = place;
}

// Sets the address of this rank's slice of every term.
static void find_terms(cuda_group *g, const slices *b) {
    for (int r = 0; r < g->member.size; r++) {
        const float *slice = own(g)->peers[r].sums + (size_t)g->member.rank * b->each;
        for (int t = g->first_term[r]; t < g->first_term[r + 1]; t++, slice += g->gradients->stride)
            set_place(g, t, slice);
    }
}

// ... and of every rank's first gradient buffer.
static void find_first_gradients(cuda_group *g, const slices *b) {
    for (int r = 0; r < g->member.size; r++)
        set_place(g, r, own(g)->peers[r].sums + (size_t)g->member.rank * b->each);
}

static status send_places(cuda_group *g, error *err) {
    ipc *i = own(g);
    const size_t count = (size_t)(g->shards->count + g->member.size);
    if (!i->places_changed) return STATUS_OK;
    i->places_changed = false;
    return cuda_enqueue_copy(g->device, i->places, i->places_host, count * sizeof *i->places,
                             cudaMemcpyHostToDevice, "sending the places of records", err);
}

// Adds the slices of `vectors` vectors, with these merges.
static status add_slices(cuda_group *g, const slices *b, int vectors, const int *merges,
                         error *err) {
    const cut c = {.end = vectors};
    const reduce_task t = {.places = own(g)->places,
                           .merges = merges,
                           .n = cuda_slice(b, g->member.rank),
                           .out = g->gradients->sums + (size_t)g->member.rank * b->each,
                           .out_stride = b->each};
    cuda_reduce(cuda_main(g->device), &c, &t);
    return cuda_check(g->device, cudaGetLastError(), "launching the sum of all ranks' records",
                      err);
}

static status sum_exact(cuda_group *g, const slices *b, error *err) {
    status rc;
    find_terms(g, b);
    TRY(send_places(g, err));
    TRY(wait_for_ranks(g, READY, err));
    rc = add_slices(g, b, g->first_term[g->member.size], g->merges, err);
out:
    return rc;
}

static status sum_fast(cuda_group *g, const slices *b, error *err) {
    status rc;
    find_first_gradients(g, b);
    TRY(send_places(g, err));
    TRY(cuda_group_add_own(g, b, cuda_main(g->device), err));
    TRY(wait_for_ranks(g, READY, err));
    rc = add_slices(g, b, g->member.size, g->merges + g->shards->count, err);
out:
    return rc;
}

static status gather_slices(cuda_group *g, const slices *b, error *err) {
    const slices_task t = {.places = own(g)->places + g->shards->count,
                           .slices = g->member.size,
                           .own = g->member.rank,
                           .slice = b->each,
                           .n = b->end,
                           .out = g->gradients->sums};
    cuda_gather_slices(cuda_main(g->device), &t);
    return cuda_check(g->device, cudaGetLastError(), "launching the gathering of slices", err);
}

// Reduces the whole gradient buffer, in the engine's stream: the hosts meet, so this cannot be in a
// graph.
static status reduce(cuda_group *g, const slices *b, launch_stream s, error *err) {
    status rc;
    assert(b->first == 0 && s.stream == g->device->stream);
    TRY(g->exact ? sum_exact(g, b, err) : sum_fast(g, b, err));
    TRY(wait_for_ranks(g, SUMMED, err));
    TRY(gather_slices(g, b, err));
out:
    return rc;
}

const group_transport cuda_ipc = {.name = "cuda ipc",
                                  .join = join,
                                  .reduce = reduce,
                                  .look = cuda_group_look_at_stream,
                                  .settle = settle,
                                  .part = part,
                                  .abort_group = abort_group,
                                  .leave = leave};
