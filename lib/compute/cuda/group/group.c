// SPDX-License-Identifier: MIT
// Engines of several ranks that reduce among themselves: choice of a transport, the order of a sum,
// and the requests that travel with a reduction.
#include "compute/cuda/group/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

// ---- Joining and leaving ----

static bool find_device(const cuda_group *g, unsigned char id[GROUP_DEVICE_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == GROUP_DEVICE_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, g->device->index) != cudaSuccess) {
        (void)cudaGetLastError(); // not a failure of the engine
        return false;
    }
    memcpy(id, &properties.uuid, GROUP_DEVICE_BYTES);
    return true;
}

static status gather_cards(const cuda_group *g, group_card *cards, error *err) {
    const engine_group *member = &g->member;
    group_card mine;
    memset(&mine, 0, sizeof mine);
    mine.has_device = find_device(g, mine.device);
    mine.gradient_floats = g->gradients->stride;
    mine.shards = (size_t)g->shards->count;
    mine.nccl = cuda_nccl.available();
    status rc = member->all_gather(member->context, &mine, sizeof mine, cards, err);
    for (int r = 1; rc == STATUS_OK && r < member->size; r++)
        if (cards[r].gradient_floats != cards[0].gradient_floats ||
            cards[r].shards != cards[0].shards)
            rc = error_set(err, STATUS_FAILED,
                           "cannot reduce: the records of rank %d and rank 0 differ in shape", r);
    return rc;
}

static status take_memory(cuda_group *g, error *err) {
    const size_t shards = (size_t)g->shards->count, size = (size_t)g->member.size;
    status rc;
    g->node = memory_new(shards, sizeof *g->node);
    g->first_term = memory_new(size + 1, sizeof *g->first_term);
    g->met = memory_new(size, sizeof *g->met);
    TRY(cuda_take(g->device, (shards + size) * sizeof *g->merges, &g->merges, err));
    TRY(cuda_take_host(g->device, (shards + size) * sizeof *g->merges, &g->merges_host, err));
    for (size_t r = 0; r < size; r++) g->merges_host[shards + r] = r > 0;
    g->order_changed = true;
    TRY(cuda_take_host(g->device, STEPS_AHEAD * GRADIENT_TAIL * sizeof *g->requests, &g->requests,
                       err));
out:
    return rc;
}

status cuda_group_meet(const cuda_group *g, error *err) {
    const unsigned char here = 1;
    return g->member.all_gather(g->member.context, &here, sizeof here, g->met, err);
}

// Ranks that tried a transport in vain may have opened memory of others: they meet after that.
static status choose_transport(cuda_group *g, const group_card *cards, error *why, error *err) {
    static const group_transport *const known[] = {&cuda_nccl, &cuda_ipc};
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool joined = false;
        g->transport = known[i];
        TRY(g->transport->join(g, cards, &joined, why, err));
        if (joined) return rc;
        g->transport->leave(g);
        g->transport = NULL;
        TRY(cuda_group_meet(g, err));
    }
out:
    if (rc != STATUS_OK) cuda_group_abort(g);
    return rc;
}

static const group_hooks hooks = {.finish = cuda_group_finish,
                                  .wait_for_turn = cuda_group_wait_for_turn,
                                  .fits_graph = cuda_group_fits_graph,
                                  .is_idle = cuda_group_is_idle,
                                  .reduce_behind = cuda_reduce_bucket_behind,
                                  .join_buckets = cuda_wait_for_buckets,
                                  .time_of_buckets = cuda_time_of_buckets,
                                  .abort = cuda_group_abort};

static cuda_group *new_group(engine *e, const engine_group *member) {
    cuda_group *g = memory_new(1, sizeof *g);
    g->engine = e;
    g->device = &e->device;
    g->plan = &e->plan;
    g->shards = &e->shards;
    g->gradients = &e->gradients;
    g->place = &e->place;
    g->member = *member;
    return g;
}

status cuda_group_join(engine *e, const engine_group *member, group_way *way, error *why,
                       error *err) {
    group_card *cards = memory_new((size_t)member->size, sizeof *cards);
    cuda_group *g = new_group(e, member);
    status rc = STATUS_OK;
    *way = (group_way){.transport = NULL};
    e->place = (group_place){.group = g, .hooks = &hooks}; // cuda_group_close frees it
    TRY(cuda_select(g->device, err));
    TRY(take_memory(g, err));
    TRY(gather_cards(g, cards, err));
    TRY(choose_transport(g, cards, why, err));
    if (!g->transport) {
        cuda_group_close(e);
        goto out;
    }
    if (g->transport->graphable) TRY(cuda_form_buckets(g, err));
    e->place.has_buckets = g->bucket_count > 0;
    *way = (group_way){g->transport->name, g->bucket_count};
out:
    free(cards);
    return rc;
}

status cuda_group_leave(engine *e, error *err) {
    cuda_group *g = e->place.group;
    status rc;
    if (!g) return STATUS_OK;
    TRY(cuda_begin(g->device, err));
    TRY(cuda_sync(e, err));
    TRY(g->transport->part(g, err));
    TRY(cuda_group_meet(g, err));
    cuda_group_close(e);
out:
    if (rc != STATUS_OK) cuda_group_abort(g);
    return rc;
}

// The last reduction has been waited for, or something has failed.
void cuda_group_close(engine *e) {
    cuda_group *g = e->place.group;
    if (!g) return;
    if (g->transport) g->transport->leave(g);
    free(g->node);
    free(g->first_term);
    free(g->met);
    cuda_forget_buckets(g);
    free(g);
    e->place = (group_place){.group = NULL};
}

// ---- The terms, and the order in which they are added ----

slices cuda_group_whole(const cuda_group *g) {
    return cuda_slices(0, g->gradients->floats, g->member.size);
}

static status find_terms(cuda_group *g, const int *first_leaf, error *err) {
    const int size = g->member.size, rank = g->member.rank;
    int terms = 0;
    for (int r = 0; r < size; r++) {
        g->first_term[r] = terms;
        terms += reduction_tree_cover(&g->shards->tree, first_leaf[r], first_leaf[r + 1],
                                      g->node + terms);
    }
    g->first_term[size] = terms;
    if (g->first_term[rank + 1] - g->first_term[rank] != g->shards->cover_count)
        return error_set(err, STATUS_FAILED,
                         "cannot reduce: the leaves given for rank %d do not match its engine's",
                         rank);
    return STATUS_OK;
}

// Sets the merges after vector k of those that reduce.cu adds. Before a change, the device must
// have read the old values.
static status set_merges(cuda_group *g, int k, int merges, error *err) {
    if (g->merges_host[k] == merges) return STATUS_OK;
    const status rc = cuda_finish_reductions(g->place, err);
    g->order_changed = true;
    g->merges_host[k] = merges;
    return rc;
}

// Sends the merges: all terms along the tree, or the rank's own vectors one after the other.
static status send_order(cuda_group *g, error *err) {
    const size_t count = (size_t)(g->shards->count + g->member.size);
    const int terms = g->first_term[g->member.size];
    status rc = STATUS_OK;
    for (int t = 0; g->exact && t < terms; t++)
        TRY(set_merges(g, t, reduction_tree_node_merges(&g->shards->tree, g->node[t]), err));
    for (int k = 0; !g->exact && k < g->shards->cover_count; k++) TRY(set_merges(g, k, k > 0, err));
    if (!g->order_changed) return rc;
    g->order_changed = false;
    rc = cuda_enqueue_copy(g->device, g->merges, g->merges_host, count * sizeof *g->merges,
                           cudaMemcpyHostToDevice, "sending the order of a sum", err);
out:
    return rc;
}

status cuda_group_add_own(const cuda_group *g, const slices *b, launch_stream s, error *err) {
    const size_t floats = b->end - b->first;
    float *const sums = g->gradients->sums + b->first;
    const cut c = {.end = g->shards->cover_count};
    const reduce_task t = {.gradients = {sums, g->gradients->stride},
                           .merges = g->merges,
                           .n = floats,
                           .out = sums,
                           .out_stride = g->gradients->stride};
    if (g->shards->cover_count == 1) return STATUS_OK;
    if (g->shards->cover_count == 0) {
        launch_after_other(s);
        return cuda_check(g->device, cudaMemsetAsync(sums, 0, floats * sizeof *sums, s.stream),
                          "clearing a record", err);
    }
    cuda_reduce(s, &c, &t);
    return cuda_check(g->device, cudaGetLastError(), "launching the sum of records", err);
}

// ---- Requests ----

static float *requests_here(const cuda_group *g) {
    return g->requests + cuda_turn(&g->engine->input) * GRADIENT_TAIL;
}

// Copies between the pinned requests and the tail of the first gradient buffer.
static status move_requests(const cuda_group *g, bool in, launch_stream s, error *err) {
    const size_t n = (size_t)g->request_count;
    float *there = g->gradients->sums + gradient_floats(g->plan->program) - n,
          *here = requests_here(g);
    const enum cudaMemcpyKind kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    launch_after_other(s);
    return cuda_check(
        g->device,
        cudaMemcpyAsync(in ? there : here, in ? here : there, n * sizeof *here, kind, s.stream),
        "copying requests", err);
}

// A rank without a vector contributes no requests.
status cuda_group_put_requests(const cuda_group *g, launch_stream s, error *err) {
    return g->shards->cover_count == 0 ? STATUS_OK : move_requests(g, true, s, err);
}

status cuda_group_take_requests(const cuda_group *g, launch_stream s, error *err) {
    return move_requests(g, false, s, err);
}

// ---- A reduction ----

// Counts as comm_shm.c does: all but the own slice of each vector, and the own slice of the sum to
// all others, whether it is sent or the others read it. An all-reduce of one vector sends as much.
static uint64_t bytes_sent(const cuda_group *g, const slices *b) {
    const size_t others = (size_t)g->member.size - 1;
    const size_t vectors = g->exact ? (size_t)g->shards->cover_count : 1;
    const size_t own = cuda_slice(b, g->member.rank), floats = b->end - b->first;
    return (vectors * (floats - own) + own * others) * sizeof(float);
}

static status prepare(cuda_group *g, const int *first_leaf, error *err) {
    status rc;
    TRY(find_terms(g, first_leaf, err));
    TRY(send_order(g, err));
    if (g->transport->prepare) TRY(g->transport->prepare(g, err));
out:
    return rc;
}

// Reduces the current gradient buffers, after everything already in the stream.
static status reduce_now(cuda_group *g, group_traffic *traffic, error *err) {
    const slices whole = cuda_group_whole(g);
    const launch_stream s = cuda_main(g->device);
    status rc;
    traffic->bytes_sent = bytes_sent(g, &whole);
    TRY(cuda_group_put_requests(g, s, err));
    TRY(g->transport->reduce(g, &whole, s, err));
    TRY(cuda_group_take_requests(g, s, err));
    g->place->under_way = true;
    TRY(cuda_group_finish(g, err));
out:
    return rc;
}

status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                         group_traffic *traffic, error *err) {
    const uint64_t begin = clock_now();
    cuda_group *g = e->place.group;
    status rc;
    if (!g || e->place.failed || n >= GRADIENT_TAIL)
        return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s) is not in a group",
                         e->device.index, e->device.name);
    g->exact = exact;
    g->request_count = n;
    memcpy(requests_here(g), requests, (size_t)n * sizeof *requests);
    TRY(cuda_begin(g->device, err));
    TRY(prepare(g, first_leaf, err));
    *traffic = (group_traffic){.vectors = g->shards->cover_count};
    e->place.waits = e->step_waits;
    if (!e->place.waits) TRY(reduce_now(g, traffic, err));
    for (int i = 0; e->place.waits && i < g->bucket_count; i++)
        traffic->bytes_sent += bytes_sent(g, &g->buckets[i].slices);
    if (e->place.waits) e->clock.inside += clock_now() - begin; // otherwise the caller counts it
out:
    if (rc != STATUS_OK) cuda_group_abort(g);
    return rc;
}

status cuda_group_result(engine *e, float *requests, int n, error *err) {
    const uint64_t begin = clock_now();
    const status rc = cuda_finish_reductions(&e->place, err);
    e->clock.inside += clock_now() - begin;
    if (rc == STATUS_OK)
        memcpy(requests, requests_here(e->place.group), (size_t)n * sizeof *requests);
    return rc;
}
