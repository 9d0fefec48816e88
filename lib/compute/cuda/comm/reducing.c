// SPDX-License-Identifier: MIT
// A reduction: the order of its terms, which is sent to the device, and what travels with it.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/comm/cuda_comm.h"

// ---- The terms, and the order in which they are added ----

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
    for (int t = 0; c->exact && t < terms; t++)
        NEED(set_merges(c, t, reduction_tree_node_merges(&c->shards->tree, c->node[t]), err));
    for (int k = 0; !c->exact && k < c->shards->cover_count; k++)
        NEED(set_merges(c, k, k > 0, err));
    if (!c->order_changed) return STATUS_OK;
    c->order_changed = false;
    return cuda_enqueue_copy(c->device, c->merges, c->merges_host, count * sizeof *c->merges,
                             cudaMemcpyHostToDevice, "sending the order of a sum", err);
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
    NEED(find_terms(c, first_leaf, err));
    NEED(send_order(c, err));
    if (c->transport->prepare) NEED(c->transport->prepare(c, err));
    return STATUS_OK;
}

// Reduces the current gradient buffers, after everything already in the stream.
static status reduce_now(cuda_comm *c, comm_traffic *traffic, error *err) {
    const slices whole = cuda_comm_whole(c);
    const launch_stream s = cuda_main(c->device);
    traffic->bytes_sent = bytes_sent(c, &whole);
    NEED(cuda_comm_put_requests(c, s, err));
    NEED(c->transport->reduce(c, &whole, s, err));
    NEED(cuda_comm_take_requests(c, s, err));
    c->place->under_way = true;
    return cuda_comm_finish(c, err);
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
    memcpy(cuda_comm_requests(c), requests, (size_t)n * sizeof *requests);
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
        memcpy(requests, cuda_comm_requests(e->place.comm), (size_t)n * sizeof *requests);
    return rc;
}
