// SPDX-License-Identifier: MIT
// Engines of several ranks that reduce among themselves: choice of a transport, the order of a sum,
// and the requests that travel with a reduction.
#include "compute/cuda/comm/cuda_comm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

// ---- Joining and leaving ----

static bool find_device(const cuda_comm *c, unsigned char id[COMM_DEVICE_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == COMM_DEVICE_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, c->device->index) != cudaSuccess) {
        (void)cudaGetLastError(); // not a failure of the engine
        return false;
    }
    memcpy(id, &properties.uuid, COMM_DEVICE_BYTES);
    return true;
}

static status gather_cards(const cuda_comm *c, comm_card *cards, error *err) {
    const engine_comm *ranks = &c->ranks;
    comm_card mine;
    memset(&mine, 0, sizeof mine);
    mine.has_device = find_device(c, mine.device);
    mine.gradient_floats = c->gradients->stride;
    mine.shards = (size_t)c->shards->count;
    mine.nccl = cuda_nccl.available();
    status rc = ranks->all_gather(ranks->context, &mine, sizeof mine, cards, err);
    for (int r = 1; rc == STATUS_OK && r < ranks->size; r++)
        if (cards[r].gradient_floats != cards[0].gradient_floats ||
            cards[r].shards != cards[0].shards)
            rc = error_set(err, STATUS_FAILED,
                           "cannot reduce: the records of rank %d and rank 0 differ in shape", r);
    return rc;
}

static status take_memory(cuda_comm *c, error *err) {
    const size_t shards = (size_t)c->shards->count, size = (size_t)c->ranks.size;
    status rc;
    c->node = memory_new(shards, sizeof *c->node);
    c->first_term = memory_new(size + 1, sizeof *c->first_term);
    c->arrived = memory_new(size, sizeof *c->arrived);
    TRY(cuda_take(c->device, (shards + size) * sizeof *c->merges, &c->merges, err));
    TRY(cuda_take_host(c->device, (shards + size) * sizeof *c->merges, &c->merges_host, err));
    for (size_t r = 0; r < size; r++) c->merges_host[shards + r] = r > 0;
    c->order_changed = true;
    TRY(cuda_take_host(c->device, STEPS_AHEAD * GRADIENT_TAIL * sizeof *c->requests, &c->requests,
                       err));
out:
    return rc;
}

status cuda_comm_barrier(const cuda_comm *c, error *err) {
    const unsigned char here = 1;
    return c->ranks.all_gather(c->ranks.context, &here, sizeof here, c->arrived, err);
}

// Ranks that tried a transport in vain may have opened memory of others: they meet after that.
static status choose_transport(cuda_comm *c, const comm_card *cards, error *why, error *err) {
    static const comm_transport *const known[] = {&cuda_nccl, &cuda_ipc};
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool joined = false;
        c->transport = known[i];
        TRY(c->transport->join(c, cards, &joined, why, err));
        if (joined) return rc;
        c->transport->leave(c);
        c->transport = NULL;
        TRY(cuda_comm_barrier(c, err));
    }
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

static const comm_hooks hooks = {.finish = cuda_comm_finish,
                                 .wait_for_turn = cuda_comm_wait_for_turn,
                                 .fits_graph = cuda_comm_fits_graph,
                                 .is_idle = cuda_comm_is_idle,
                                 .reduce_behind = cuda_reduce_bucket_behind,
                                 .join_buckets = cuda_wait_for_buckets,
                                 .time_of_buckets = cuda_time_of_buckets,
                                 .abort = cuda_comm_abort};

static cuda_comm *new_comm(engine *e, const engine_comm *ranks) {
    cuda_comm *c = memory_new(1, sizeof *c);
    c->engine = e;
    c->device = &e->device;
    c->plan = &e->plan;
    c->shards = &e->shards;
    c->gradients = &e->gradients;
    c->place = &e->place;
    c->ranks = *ranks;
    return c;
}

status cuda_comm_join(engine *e, const engine_comm *ranks, comm_way *way, error *why, error *err) {
    comm_card *cards = memory_new((size_t)ranks->size, sizeof *cards);
    cuda_comm *c = new_comm(e, ranks);
    status rc = STATUS_OK;
    *way = (comm_way){.transport = NULL};
    e->place = (comm_place){.comm = c, .hooks = &hooks}; // cuda_comm_close frees it
    TRY(cuda_select(c->device, err));
    TRY(take_memory(c, err));
    TRY(gather_cards(c, cards, err));
    TRY(choose_transport(c, cards, why, err));
    if (!c->transport) {
        cuda_comm_close(e);
        goto out;
    }
    if (c->transport->graphable) TRY(cuda_form_buckets(c, err));
    e->place.has_buckets = c->bucket_count > 0;
    *way = (comm_way){c->transport->name, c->bucket_count};
out:
    free(cards);
    return rc;
}

status cuda_comm_leave(engine *e, error *err) {
    cuda_comm *c = e->place.comm;
    status rc;
    if (!c) return STATUS_OK;
    TRY(cuda_begin(c->device, err));
    TRY(cuda_sync(e, err));
    TRY(c->transport->part(c, err));
    TRY(cuda_comm_barrier(c, err));
    cuda_comm_close(e);
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

// The last reduction has been waited for, or something has failed.
void cuda_comm_close(engine *e) {
    cuda_comm *c = e->place.comm;
    if (!c) return;
    if (c->transport) c->transport->leave(c);
    free(c->node);
    free(c->first_term);
    free(c->arrived);
    cuda_forget_buckets(c);
    free(c);
    e->place = (comm_place){.comm = NULL};
}

// ---- The terms, and the order in which they are added ----

slices cuda_comm_whole(const cuda_comm *c) {
    return cuda_slices(0, c->gradients->floats, c->ranks.size);
}

static status find_terms(cuda_comm *c, const int *first_leaf, error *err) {
    const int size = c->ranks.size, rank = c->ranks.rank;
    int terms = 0;
    for (int r = 0; r < size; r++) {
        c->first_term[r] = terms;
        terms += reduction_tree_cover(&c->shards->tree, first_leaf[r], first_leaf[r + 1],
                                      c->node + terms);
    }
    c->first_term[size] = terms;
    if (c->first_term[rank + 1] - c->first_term[rank] != c->shards->cover_count)
        return error_set(err, STATUS_FAILED,
                         "cannot reduce: the leaves given for rank %d do not match its engine's",
                         rank);
    return STATUS_OK;
}

// Sets the merges after vector k of those that reduce.cu adds. Before a change, the device must
// have read the old values.
static status set_merges(cuda_comm *c, int k, int merges, error *err) {
    if (c->merges_host[k] == merges) return STATUS_OK;
    const status rc = cuda_finish_reductions(c->place, err);
    c->order_changed = true;
    c->merges_host[k] = merges;
    return rc;
}

// Sends the merges: all terms along the tree, or the rank's own vectors one after the other.
static status send_order(cuda_comm *c, error *err) {
    const size_t count = (size_t)(c->shards->count + c->ranks.size);
    const int terms = c->first_term[c->ranks.size];
    status rc = STATUS_OK;
    for (int t = 0; c->exact && t < terms; t++)
        TRY(set_merges(c, t, reduction_tree_node_merges(&c->shards->tree, c->node[t]), err));
    for (int k = 0; !c->exact && k < c->shards->cover_count; k++) TRY(set_merges(c, k, k > 0, err));
    if (!c->order_changed) return rc;
    c->order_changed = false;
    rc = cuda_enqueue_copy(c->device, c->merges, c->merges_host, count * sizeof *c->merges,
                           cudaMemcpyHostToDevice, "sending the order of a sum", err);
out:
    return rc;
}

status cuda_comm_add_own(const cuda_comm *c, const slices *b, launch_stream s, error *err) {
    const size_t floats = b->end - b->first;
    float *const sums = c->gradients->sums + b->first;
    const cut all = {.end = c->shards->cover_count};
    const reduce_task t = {.gradients = {sums, c->gradients->stride},
                           .merges = c->merges,
                           .n = floats,
                           .out = sums,
                           .out_stride = c->gradients->stride};
    if (c->shards->cover_count == 1) return STATUS_OK;
    if (c->shards->cover_count == 0) {
        launch_after_other(s);
        return cuda_check(c->device, cudaMemsetAsync(sums, 0, floats * sizeof *sums, s.stream),
                          "clearing a record", err);
    }
    cuda_reduce(s, &all, &t);
    return cuda_check(c->device, cudaGetLastError(), "launching the sum of records", err);
}

// ---- Requests ----

static float *requests_here(const cuda_comm *c) {
    return c->requests + cuda_turn(&c->engine->input) * GRADIENT_TAIL;
}

// Copies between the pinned requests and the tail of the first gradient buffer.
static status move_requests(const cuda_comm *c, bool in, launch_stream s, error *err) {
    const size_t n = (size_t)c->request_count;
    float *there = c->gradients->sums + gradient_floats(c->plan->program) - n,
          *here = requests_here(c);
    const enum cudaMemcpyKind kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    launch_after_other(s);
    return cuda_check(
        c->device,
        cudaMemcpyAsync(in ? there : here, in ? here : there, n * sizeof *here, kind, s.stream),
        "copying requests", err);
}

// A rank without a vector contributes no requests.
status cuda_comm_put_requests(const cuda_comm *c, launch_stream s, error *err) {
    return c->shards->cover_count == 0 ? STATUS_OK : move_requests(c, true, s, err);
}

status cuda_comm_take_requests(const cuda_comm *c, launch_stream s, error *err) {
    return move_requests(c, false, s, err);
}

// ---- A reduction ----

// Counts as comm_shm.c does: all but the own slice of each vector, and the own slice of the sum to
// all others, whether it is sent or the others read it. An all-reduce of one vector sends as much.
static uint64_t bytes_sent(const cuda_comm *c, const slices *b) {
    const size_t others = (size_t)c->ranks.size - 1;
    const size_t vectors = c->exact ? (size_t)c->shards->cover_count : 1;
    const size_t own = cuda_slice(b, c->ranks.rank), floats = b->end - b->first;
    return (vectors * (floats - own) + own * others) * sizeof(float);
}

static status prepare(cuda_comm *c, const int *first_leaf, error *err) {
    status rc;
    TRY(find_terms(c, first_leaf, err));
    TRY(send_order(c, err));
    if (c->transport->prepare) TRY(c->transport->prepare(c, err));
out:
    return rc;
}

// Reduces the current gradient buffers, after everything already in the stream.
static status reduce_now(cuda_comm *c, comm_traffic *traffic, error *err) {
    const slices whole = cuda_comm_whole(c);
    const launch_stream s = cuda_main(c->device);
    status rc;
    traffic->bytes_sent = bytes_sent(c, &whole);
    TRY(cuda_comm_put_requests(c, s, err));
    TRY(c->transport->reduce(c, &whole, s, err));
    TRY(cuda_comm_take_requests(c, s, err));
    c->place->under_way = true;
    TRY(cuda_comm_finish(c, err));
out:
    return rc;
}

status cuda_comm_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                        comm_traffic *traffic, error *err) {
    const uint64_t begin = clock_now();
    cuda_comm *c = e->place.comm;
    status rc;
    if (!c || e->place.failed || n >= GRADIENT_TAIL)
        return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s) is not in a group",
                         e->device.index, e->device.name);
    c->exact = exact;
    c->request_count = n;
    memcpy(requests_here(c), requests, (size_t)n * sizeof *requests);
    TRY(cuda_begin(c->device, err));
    TRY(prepare(c, first_leaf, err));
    *traffic = (comm_traffic){.vectors = c->shards->cover_count};
    e->place.waits = e->step_waits;
    if (!e->place.waits) TRY(reduce_now(c, traffic, err));
    for (int i = 0; e->place.waits && i < c->bucket_count; i++)
        traffic->bytes_sent += bytes_sent(c, &c->buckets[i].slices);
    if (e->place.waits) e->clock.inside += clock_now() - begin; // otherwise the caller counts it
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

status cuda_comm_result(engine *e, float *requests, int n, error *err) {
    const uint64_t begin = clock_now();
    const status rc = cuda_finish_reductions(&e->place, err);
    e->clock.inside += clock_now() - begin;
    if (rc == STATUS_OK)
        memcpy(requests, requests_here(e->place.comm), (size_t)n * sizeof *requests);
    return rc;
}
