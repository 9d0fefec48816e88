// SPDX-License-Identifier: MIT
// Engines of several ranks that reduce among themselves: choice of a transport, the requests that
// travel with a reduction, and waiting for other ranks.
//
// **Waiting.** The device waits for other ranks; if one of them dies, it may wait forever. So no
// code calls cudaStreamSynchronize during a reduction: cuda_group_wait() tests the stream and,
// through the group's `alive`, the other ranks, until all work is done or something has failed.
#include "compute/cuda/group/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"

enum {
    FLOAT4 = 4,        // slice lengths are multiples of it: reduce.cu
    SPIN_NS = 1000000, // after this long, a wait sleeps between tests
    NAP_NS = 50000,
    ALIVE_NS = BACKEND_ALIVE_MS * 1000000,
    REST_NS = 1000000000,
};

// ---- Failing and waiting ----

void cuda_group_nap(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

void cuda_group_abort(engine *e) {
    cuda_group *g = e->group;
    g->failed = true;
    if (g->transport) g->transport->abort_group(e);
}

status cuda_group_look_at_stream(const engine *e, const char *what, bool *done, error *err) {
    const cudaError_t code = cudaStreamQuery(e->stream);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(e, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return STATUS_OK;
}

status cuda_group_wait(engine *e, group_look *look, const char *what, error *err) {
    const engine_group *member = &e->group->member;
    const uint64_t begin = clock_now();
    uint64_t asked = begin;
    bool done;
    status rc;
    for (;;) {
        TRY(look(e, what, &done, err));
        if (done) break;
        const uint64_t now = clock_now();
        if (now - asked >= ALIVE_NS) {
            TRY(member->alive(member->context, err));
            asked = now;
        }
        if (now - begin > SPIN_NS) cuda_group_nap(NAP_NS);
    }
out:
    e->group->failed |= rc != STATUS_OK;
    return rc;
}

bool cuda_group_is_idle(engine *e) {
    const group_transport *transport = e->group ? e->group->transport : NULL;
    const uint64_t begin = clock_now();
    bool idle = !transport || !transport->listen;
    error ignored; // the caller has already failed
    while (!idle && !e->stuck &&
           transport->listen(e, "capturing a step", &idle, &ignored) == STATUS_OK) {
        if (!idle) cuda_group_nap(NAP_NS);
        e->stuck = !idle && clock_now() - begin > REST_NS;
    }
    return !e->stuck;
}

status cuda_group_finish(engine *e, error *err) {
    cuda_group *g = e->group;
    status rc = STATUS_OK;
    if (!g || !g->under_way) return rc;
    g->under_way = false; // a failed rank has given up and waits no more
    TRY(cuda_group_wait(e, g->transport->look, "reducing", err));
    if (g->transport->settle) TRY(g->transport->settle(e, err));
out:
    if (rc != STATUS_OK) cuda_group_abort(e);
    return rc;
}

static status check_turn(const engine *e, const char *what, bool *done, error *err) {
    const group_transport *transport = e->group->transport;
    const cudaError_t code = cudaEventQuery(e->ahead[cuda_turn(e)].done);
    bool idle;
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(e, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return transport->listen ? transport->listen(e, what, &idle, err) : STATUS_OK;
}

status cuda_group_wait_for_turn(engine *e, error *err) {
    const status rc = cuda_group_wait(e, check_turn, "reducing", err);
    if (rc != STATUS_OK) cuda_group_abort(e);
    return rc;
}

// ---- Joining and leaving ----

static bool find_device(const engine *e, unsigned char id[GROUP_DEVICE_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == GROUP_DEVICE_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, e->options.device) != cudaSuccess) {
        (void)cudaGetLastError(); // not a failure of the engine
        return false;
    }
    memcpy(id, &properties.uuid, GROUP_DEVICE_BYTES);
    return true;
}

static status gather_cards(const engine *e, group_card *cards, error *err) {
    const engine_group *member = &e->group->member;
    group_card mine;
    memset(&mine, 0, sizeof mine);
    mine.has_device = find_device(e, mine.device);
    mine.record = e->stride;
    mine.shards = (size_t)e->options.shards;
    mine.nccl = cuda_nccl.available();
    status rc = member->all_gather(member->context, &mine, sizeof mine, cards, err);
    for (int r = 1; rc == STATUS_OK && r < member->size; r++)
        if (cards[r].record != cards[0].record || cards[r].shards != cards[0].shards)
            rc = error_set(err, STATUS_FAILED,
                           "cannot reduce: the records of rank %d and rank 0 differ in shape", r);
    return rc;
}

static status take_memory(engine *e, cuda_group *g, error *err) {
    const size_t shards = (size_t)e->options.shards, size = (size_t)g->member.size;
    status rc;
    g->node = memory_new(shards, sizeof *g->node, err);
    g->first_term = memory_new(size + 1, sizeof *g->first_term, err);
    if (!g->node || !g->first_term) return STATUS_FAILED;
    TRY(cuda_take(e, (shards + size) * sizeof *g->merges, &g->merges, err));
    TRY(cuda_take_host(e, (shards + size) * sizeof *g->merges, &g->merges_host, err));
    for (size_t r = 0; r < size; r++) g->merges_host[shards + r] = r > 0;
    g->order_changed = true;
    TRY(cuda_take_host(e, STEPS_AHEAD * RECORD_EXTRA * sizeof *g->requests, &g->requests, err));
out:
    return rc;
}

static status choose_transport(engine *e, const group_card *cards, error *why, error *err) {
    static const group_transport *const known[] = {&cuda_nccl, &cuda_ipc};
    cuda_group *g = e->group;
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool joined = false;
        g->transport = known[i];
        TRY(g->transport->join(e, cards, &joined, why, err));
        if (joined) return rc;
        g->transport->leave(e);
        g->transport = NULL;
    }
out:
    if (rc != STATUS_OK) cuda_group_abort(e);
    return rc;
}

status cuda_group_join(engine *e, const engine_group *member, group_way *way, error *why,
                       error *err) {
    group_card *cards = memory_new((size_t)member->size, sizeof *cards, err);
    cuda_group *g = memory_new(1, sizeof *g, err);
    status rc = STATUS_FAILED;
    *way = (group_way){.transport = NULL};
    if (!cards || !g) {
        free(g);
        goto out;
    }
    e->group = g; // cuda_group_close frees it
    g->member = *member;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(take_memory(e, g, err));
    TRY(gather_cards(e, cards, err));
    TRY(choose_transport(e, cards, why, err));
    if (!g->transport) {
        cuda_group_close(e);
        goto out;
    }
    if (g->transport->graphable) TRY(cuda_form_buckets(e, err));
    *way = (group_way){g->transport->name, g->bucket_count};
out:
    free(cards);
    return rc;
}

// The last reduction has been waited for, or something has failed.
void cuda_group_close(engine *e) {
    cuda_group *g = e->group;
    if (!g) return;
    if (g->transport) g->transport->leave(e);
    free(g->node);
    free(g->first_term);
    cuda_forget_buckets(e);
    free(g);
    e->group = NULL;
}

// ---- Slices ----

size_t cuda_group_slice_unit(int size) {
    return (size_t)FLOAT4 * (size_t)size;
}

size_t cuda_group_margin(int shards) {
    return 2 * cuda_group_slice_unit(shards);
}

void cuda_group_cut(const engine *e, bucket *b) {
    const size_t size = (size_t)e->group->member.size, each = (b->end - b->first + size - 1) / size;
    b->slice = (each + FLOAT4 - 1) / FLOAT4 * FLOAT4;
}

bucket cuda_group_whole(const engine *e) {
    bucket b = {.end = e->record};
    cuda_group_cut(e, &b);
    return b;
}

size_t cuda_group_slice(const bucket *b, int q) {
    const size_t begin = b->first + (size_t)q * b->slice;
    if (begin >= b->end) return 0;
    return b->end - begin < b->slice ? b->end - begin : b->slice;
}

// ---- The terms, and the order in which they are added ----

static status find_terms(engine *e, const int *first_leaf, error *err) {
    cuda_group *g = e->group;
    const int size = g->member.size, rank = g->member.rank;
    int terms = 0;
    for (int r = 0; r < size; r++) {
        g->first_term[r] = terms;
        terms += reduction_tree_cover(&e->tree, first_leaf[r], first_leaf[r + 1], g->node + terms);
    }
    g->first_term[size] = terms;
    if (g->first_term[rank + 1] - g->first_term[rank] != e->record_count)
        return error_set(err, STATUS_FAILED,
                         "cannot reduce: the leaves given for rank %d do not match its engine's",
                         rank);
    return STATUS_OK;
}

// Sets the merges after vector k of those that reduce.cu adds. Before a change, the device must
// have read the old values.
static status set_merges(engine *e, int k, int merges, error *err) {
    cuda_group *g = e->group;
    if (g->merges_host[k] == merges) return STATUS_OK;
    const status rc = cuda_group_finish(e, err);
    g->order_changed = true;
    g->merges_host[k] = merges;
    return rc;
}

// Sends the merges: all terms along the tree, or the rank's own vectors one after the other.
static status send_order(engine *e, error *err) {
    cuda_group *g = e->group;
    const size_t count = (size_t)(e->options.shards + g->member.size);
    const int terms = g->first_term[g->member.size];
    status rc = STATUS_OK;
    for (int t = 0; g->exact && t < terms; t++)
        TRY(set_merges(e, t, reduction_tree_node_merges(&e->tree, g->node[t]), err));
    for (int k = 0; !g->exact && k < e->record_count; k++) TRY(set_merges(e, k, k > 0, err));
    if (!g->order_changed) return rc;
    g->order_changed = false;
    rc = cuda_check(e,
                    cudaMemcpyAsync(g->merges, g->merges_host, count * sizeof *g->merges,
                                    cudaMemcpyHostToDevice, e->stream),
                    "sending the order of a sum", err);
out:
    return rc;
}

status cuda_group_add_own(engine *e, const bucket *b, launch_stream s, error *err) {
    const size_t floats = b->end - b->first;
    float *const sums = e->sums + b->first;
    const cut c = {.end = e->record_count};
    const reduce_task t = {.records = {sums, e->stride},
                           .merges = e->group->merges,
                           .n = floats,
                           .out = sums,
                           .out_stride = e->stride};
    if (e->record_count == 1) return STATUS_OK;
    if (e->record_count == 0)
        return cuda_check(e, cudaMemsetAsync(sums, 0, floats * sizeof *sums, s.stream),
                          "clearing a record", err);
    cuda_reduce(s, &c, &t);
    return cuda_check(e, cudaGetLastError(), "launching the sum of records", err);
}

// ---- Wishes ----

static float *requests_here(const engine *e) {
    return e->group->requests + cuda_turn(e) * RECORD_EXTRA;
}

// Copies between the pinned requests and the tail of the first record.
static status move_requests(const engine *e, bool in, cudaStream_t s, error *err) {
    const cuda_group *g = e->group;
    const size_t n = (size_t)g->request_count;
    float *there = e->sums + record_floats(e->program) - n, *here = requests_here(e);
    return cuda_check(e,
                      cudaMemcpyAsync(in ? there : here, in ? here : there, n * sizeof *here,
                                      in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, s),
                      "copying requests", err);
}

// A rank without a vector contributes no requests.
status cuda_group_put_requests(const engine *e, cudaStream_t s, error *err) {
    return e->record_count == 0 ? STATUS_OK : move_requests(e, true, s, err);
}

status cuda_group_take_requests(const engine *e, cudaStream_t s, error *err) {
    return move_requests(e, false, s, err);
}

// ---- A reduction ----

// Counts as comm_shm.c does: all but the own slice of each vector, and the own slice of the sum to
// all others, whether it is sent or the others read it. An all-reduce of one vector sends as much.
static group_traffic count_traffic(const engine *e, const bucket *buckets, int count) {
    const cuda_group *g = e->group;
    const size_t others = (size_t)g->member.size - 1;
    const size_t vectors = g->exact ? (size_t)e->record_count : 1;
    group_traffic traffic = {.vectors = e->record_count};
    for (const bucket *b = buckets; b < buckets + count; b++) {
        const size_t own = cuda_group_slice(b, g->member.rank), floats = b->end - b->first;
        traffic.bytes_sent += (vectors * (floats - own) + own * others) * sizeof(float);
    }
    return traffic;
}

// Reduces the current records, after everything already in the stream.
static status reduce_now(engine *e, const bucket *whole, error *err) {
    cuda_group *g = e->group;
    status rc;
    TRY(cuda_group_put_requests(e, e->stream, err));
    TRY(g->transport->reduce(e, whole, cuda_main(e), err));
    TRY(cuda_group_take_requests(e, e->stream, err));
    g->under_way = true;
    TRY(cuda_group_finish(e, err));
out:
    return rc;
}

static status prepare(engine *e, const int *first_leaf, error *err) {
    const cuda_group *g = e->group;
    status rc;
    TRY(find_terms(e, first_leaf, err));
    TRY(send_order(e, err));
    if (g->transport->prepare) TRY(g->transport->prepare(e, err));
out:
    return rc;
}

status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                         group_traffic *traffic, error *err) {
    const uint64_t begin = clock_now();
    cuda_group *g = e->group;
    status rc;
    if (!g || g->failed || n >= RECORD_EXTRA)
        return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s) is not in a group",
                         e->options.device, e->name);
    const bucket whole = cuda_group_whole(e);
    g->exact = exact;
    g->request_count = n;
    memcpy(requests_here(e), requests, (size_t)n * sizeof *requests);
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    TRY(prepare(e, first_leaf, err));
    g->waits = e->step_waits;
    *traffic =
        g->waits ? count_traffic(e, g->buckets, g->bucket_count) : count_traffic(e, &whole, 1);
    if (!g->waits) TRY(reduce_now(e, &whole, err));
    if (g->waits) e->inside += clock_now() - begin; // otherwise the caller counts the time
out:
    if (rc != STATUS_OK) cuda_group_abort(e);
    return rc;
}

status cuda_group_result(engine *e, float *requests, int n, error *err) {
    const uint64_t begin = clock_now();
    const status rc = cuda_group_finish(e, err);
    e->inside += clock_now() - begin;
    if (rc == STATUS_OK) memcpy(requests, requests_here(e), (size_t)n * sizeof *requests);
    return rc;
}
