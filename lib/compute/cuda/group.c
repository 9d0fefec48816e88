// Engines of several ranks that reduce among themselves: choosing how, what travels with a
// reduction, and waiting for the others.
//
// **Waiting.** The device waits for other ranks, and when one of them dies it may wait for ever. So
// nobody calls cudaStreamSynchronize here: cuda_group_wait() looks at the stream and, through the
// group's `alive`, at the other ranks, until all is done or something has failed.
#include "compute/cuda/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"

enum {
    FLOAT4 = 4,        // slices are multiples of it: reduce.cu
    SPIN_NS = 1000000, // whoever has waited for so long sleeps in between
    NAP_NS = 50000,
    ALIVE_NS = BACKEND_ALIVE_MS * 1000000,
};

// ---- Failing and waiting ----

void cuda_group_nap(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

static void give_up(engine *e) {
    cuda_group *g = e->group;
    g->failed = true;
    if (g->transport) g->transport->give_up(e);
}

status cuda_group_look_at_stream(const engine *e, const char *what, bool *done, error *err) {
    const cudaError_t code = cudaStreamQuery(e->stream);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(e, code, what, err);
    (void)cudaGetLastError(); // where "not ready" stays until somebody asks
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
    return rc;
}

// ---- Joining and leaving ----

static bool find_device(const engine *e, unsigned char id[GROUP_DEVICE_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == GROUP_DEVICE_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, e->options.device) != cudaSuccess) {
        (void)cudaGetLastError(); // nobody's failure
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
    mine.nccl = cuda_nccl.built;
    status rc = member->all_gather(member->context, &mine, sizeof mine, cards, err);
    for (int r = 1; rc == STATUS_OK && r < member->size; r++)
        if (cards[r].record != cards[0].record || cards[r].shards != cards[0].shards)
            rc = error_set(err, STATUS_FAILED,
                           "cannot reduce: rank %d has other records than rank 0", r);
    return rc;
}

static status take_memory(engine *e, cuda_group *g, error *err) {
    const size_t shards = (size_t)e->options.shards, size = (size_t)g->member.size;
    const size_t each = (e->stride + size - 1) / size;
    status rc;
    g->slice = (each + FLOAT4 - 1) / FLOAT4 * FLOAT4;
    g->node = memory_new(shards, sizeof *g->node, err);
    g->first_term = memory_new(size + 1, sizeof *g->first_term, err);
    if (!g->node || !g->first_term) return STATUS_FAILED;
    TRY(cuda_take(e, (shards + size) * sizeof *g->merges, &g->merges, err));
    TRY(cuda_take_host(e, (shards + size) * sizeof *g->merges, &g->merges_host, err));
    for (size_t r = 0; r < size; r++) g->merges_host[shards + r] = r > 0;
    g->order_changed = true;
    TRY(cuda_take_host(e, RECORD_TAIL * sizeof *g->wishes, &g->wishes, err));
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
    if (rc != STATUS_OK) give_up(e);
    return rc;
}

status cuda_group_join(engine *e, const engine_group *member, const char **transport, error *why,
                       error *err) {
    group_card *cards = memory_new((size_t)member->size, sizeof *cards, err);
    cuda_group *g = memory_new(1, sizeof *g, err);
    status rc = STATUS_FAILED;
    *transport = NULL;
    if (!cards || !g) {
        free(g);
        goto out;
    }
    e->group = g; // which cuda_group_close frees
    g->member = *member;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(take_memory(e, g, err));
    TRY(gather_cards(e, cards, err));
    TRY(choose_transport(e, cards, why, err));
    if (g->transport)
        *transport = g->transport->name;
    else
        cuda_group_close(e);
out:
    free(cards);
    return rc;
}

// Whoever comes here has waited for its last reduction, or has failed.
void cuda_group_close(engine *e) {
    cuda_group *g = e->group;
    if (!g) return;
    if (g->transport) g->transport->leave(e);
    free(g->node);
    free(g->first_term);
    free(g);
    e->group = NULL;
}

// ---- The terms ----

size_t cuda_group_slice(const engine *e, int q) {
    const size_t slice = e->group->slice, begin = (size_t)q * slice;
    if (begin >= e->stride) return 0;
    return e->stride - begin < slice ? e->stride - begin : slice;
}

void cuda_group_merge(cuda_group *g, int k, int merges) {
    g->order_changed |= g->merges_host[k] != merges;
    g->merges_host[k] = merges;
}

status cuda_group_send_merges(engine *e, error *err) {
    cuda_group *g = e->group;
    const size_t count = (size_t)(e->options.shards + g->member.size);
    if (!g->order_changed) return STATUS_OK;
    g->order_changed = false;
    return cuda_check(e,
                      cudaMemcpyAsync(g->merges, g->merges_host, count * sizeof *g->merges,
                                      cudaMemcpyHostToDevice, e->stream),
                      "sending the order of a sum", err);
}

status cuda_group_add_own(engine *e, error *err) {
    cuda_group *g = e->group;
    const cut c = {.end = e->record_count};
    const reduce_task t = {.records = {e->sums, e->stride},
                           .merges = g->merges,
                           .n = e->stride,
                           .out = e->sums,
                           .out_stride = e->stride};
    status rc;
    for (int k = 0; k < e->record_count; k++) cuda_group_merge(g, k, k > 0);
    TRY(cuda_group_send_merges(e, err));
    if (e->record_count == 1) return rc;
    if (e->record_count == 0)
        return cuda_check(e, cudaMemsetAsync(e->sums, 0, e->stride * sizeof(float), e->stream),
                          "clearing a record", err);
    cuda_reduce(cuda_main(e), &c, &t);
    rc = cuda_check(e, cudaGetLastError(), "launching the sum of records", err);
out:
    return rc;
}

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
                         "cannot reduce: rank %d is said to own other leaves than its engine has",
                         rank);
    return STATUS_OK;
}

// ---- A step ----

// Copies between the pinned wishes and the tail of the first record.
static status move_wishes(const engine *e, int n, bool in, error *err) {
    float *there = e->sums + record_floats(e->program) - n, *here = e->group->wishes;
    return cuda_check(
        e,
        cudaMemcpyAsync(in ? there : here, in ? here : there, (size_t)n * sizeof *here,
                        in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, e->stream),
        "copying what ranks agree on", err);
}

// The kernels leave zeros there, so a rank without a wish has nothing to do.
static status put_wishes(const engine *e, const float *wishes, int n, error *err) {
    bool any = false;
    for (int i = 0; i < n; i++) any |= wishes[i] != 0;
    if (!any || e->record_count == 0) return STATUS_OK;
    memcpy(e->group->wishes, wishes, (size_t)n * sizeof *wishes);
    return move_wishes(e, n, true, err);
}

// As comm_shm.c counts them: all but the own slice of each vector, and the own slice of the sum to
// all others; whether it is sent, or the others come and read it. An all-reduce of one vector sends
// as much.
static group_traffic count_traffic(const engine *e, bool exact) {
    const cuda_group *g = e->group;
    const size_t own = cuda_group_slice(e, g->member.rank), others = (size_t)g->member.size - 1;
    const size_t vectors = exact ? (size_t)e->record_count : 1;
    return (group_traffic){e->record_count,
                           (vectors * (e->stride - own) + own * others) * sizeof(float)};
}

status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, float *wishes, int n,
                         group_traffic *traffic, error *err) {
    cuda_group *g = e->group;
    status rc;
    if (!g || g->failed || n >= RECORD_TAIL)
        return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s) is in no group",
                         e->options.device, e->name);
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(cuda_pending_failure(e, err));
    TRY(find_terms(e, first_leaf, err));
    TRY(put_wishes(e, wishes, n, err));
    TRY(g->transport->reduce(e, exact, err));
    TRY(move_wishes(e, n, false, err));
    TRY(cuda_group_wait(e, g->transport->look, "reducing", err));
    if (g->transport->settle) TRY(g->transport->settle(e, err));
    memcpy(wishes, g->wishes, (size_t)n * sizeof *wishes);
    *traffic = count_traffic(e, exact);
out:
    if (rc != STATUS_OK) give_up(e);
    return rc;
}
