// The reduction of a step on the devices, by NCCL: for ranks that have a GPU each.
//
// **Exact.** The vectors of all ranks, one rank after the other, are the *terms*: they belong to
// nodes that cover the reduction tree, and everybody knows which. A record is cut into slices, one
// a rank.
//
//     send and receive    slice q of every term goes to rank q
//     reduce.cu           rank q adds its slice of the terms, along the tree
//     all-gather          the slices become the reduced record
//
// Each float is added by one rank, in the one order there is: the bits of comm_shm.c.
//
// **Fast.** Each rank adds its own vectors in order; ncclAllReduce does the rest in an order of its
// own.
//
// **Waiting.** NCCL waits for other ranks when it starts, when a connection is first used, and in
// its kernels; when one of them dies it may wait for ever. So the communicator is non-blocking: its
// calls return at once, and wait_for() looks at NCCL, at the stream and, through the group's
// `alive`, at the other ranks, until all is done or something has failed. Nothing may be put behind
// a group of calls in the stream before NCCL has said that they are there.
#include <nccl.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cuda/nccl.h"

static_assert(sizeof(ncclUniqueId) == BACKEND_GROUP_ID_BYTES, "an id of NCCL's travels as ours");

enum {
    FLOAT4 = 4,        // slices are multiples of it: reduce.cu
    SPIN_NS = 1000000, // whoever has waited for so long sleeps in between
    NAP_NS = 50000,
    ALIVE_NS = BACKEND_ALIVE_MS * 1000000,
    NEWS_MS = 1000, // how long to wait for an explanation of what NCCL says of others
    NEWS_STEP_MS = 10,
};

typedef struct cuda_group {
    ncclComm_t comm; // NULL: given up
    engine_group member;
    size_t slice;              // floats; `size` slices are a record or a little more
    int *node;                 // [V]: of each term
    int *first_term;           // [size + 1]: where each rank's begin
    float *received;           // [terms][slice]: this rank's slice of all terms
    size_t room;               // floats of it
    int *merges_host, *merges; // [V]: of reduce.cu, on the host and on the device
    bool merges_changed;       // those on the host, since they were sent
    float *wishes;             // [RECORD_TAIL], pinned
} cuda_group;

// ---- Failing and waiting ----

static void nap(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

static void give_up(cuda_group *g) {
    if (g->comm) (void)ncclCommAbort(g->comm);
    g->comm = NULL;
}

// NCCL may notice that a rank is gone before the group does, but it cannot say who, and why.
static status hear_of_others(const cuda_group *g, error *err) {
    status rc = g->member.alive(g->member.context, err);
    for (int waited = 0; rc == STATUS_OK && waited < NEWS_MS; waited += NEWS_STEP_MS) {
        nap(NEWS_STEP_MS * 1000000L);
        rc = g->member.alive(g->member.context, err);
    }
    return rc;
}

// `what` was being done when NCCL said `code`.
static status fail(const engine *e, const char *what, ncclResult_t code, error *err) {
    cuda_group *g = e->group;
    const bool others = code == ncclRemoteError || code == ncclSystemError;
    status rc = others ? hear_of_others(g, err) : STATUS_OK;
    if (rc == STATUS_OK) {
        const char *detail = ncclGetLastError(g->comm);
        rc = error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s): %s: NCCL: %s%s%s",
                       e->options.device, e->name, what, ncclGetErrorString(code),
                       detail && *detail ? ": " : "", detail ? detail : "");
    }
    give_up(g);
    return rc;
}

static bool is_good(ncclResult_t code) {
    return code == ncclSuccess || code == ncclInProgress;
}

static status check(const engine *e, ncclResult_t code, const char *what, error *err) {
    return is_good(code) ? STATUS_OK : fail(e, what, code, err);
}

typedef enum progress { LAUNCHED, FINISHED } progress;

// One look: at NCCL, which puts its work into the stream, and then at the stream.
static status look(const engine *e, progress until, const char *what, bool *done, error *err) {
    ncclResult_t state;
    status rc;
    *done = false;
    TRY(check(e, ncclCommGetAsyncError(e->group->comm, &state), what, err));
    TRY(check(e, state, what, err));
    if (state == ncclInProgress) goto out;
    *done = until == LAUNCHED;
    if (*done) goto out;
    const cudaError_t code = cudaStreamQuery(e->stream);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(e, code, what, err);
    (void)cudaGetLastError(); // where "not ready" stays until somebody asks
out:
    return rc;
}

static status wait_for(const engine *e, progress until, const char *what, error *err) {
    cuda_group *g = e->group;
    const uint64_t begin = clock_now();
    uint64_t asked = begin;
    bool done;
    status rc;
    for (;;) {
        TRY(look(e, until, what, &done, err));
        if (done) break;
        const uint64_t now = clock_now();
        if (now - asked >= ALIVE_NS) {
            rc = g->member.alive(g->member.context, err);
            asked = now;
        }
        if (rc != STATUS_OK) break;
        if (now - begin > SPIN_NS) nap(NAP_NS);
    }
out:
    if (rc != STATUS_OK) give_up(g);
    return rc;
}

// ---- Joining and leaving ----

bool cuda_group_device(const engine *e, unsigned char id[BACKEND_DEVICE_ID_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == BACKEND_DEVICE_ID_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, e->options.device) != cudaSuccess) {
        (void)cudaGetLastError(); // nobody's failure
        return false;
    }
    memcpy(id, &properties.uuid, BACKEND_DEVICE_ID_BYTES);
    return true;
}

status cuda_group_id(engine *e, unsigned char id[BACKEND_GROUP_ID_BYTES], error *err) {
    ncclUniqueId unique;
    const ncclResult_t code = ncclGetUniqueId(&unique);
    if (code != ncclSuccess)
        return error_set(err, STATUS_FAILED,
                         "cannot reduce: 'cuda:%d' (%s): making a group: NCCL: %s",
                         e->options.device, e->name, ncclGetErrorString(code));
    memcpy(id, &unique, sizeof unique);
    return STATUS_OK;
}

static status take_memory(engine *e, cuda_group *g, error *err) {
    const size_t shards = (size_t)e->options.shards, size = (size_t)g->member.size;
    const size_t each = (e->stride + size - 1) / size;
    status rc;
    g->slice = (each + FLOAT4 - 1) / FLOAT4 * FLOAT4;
    g->node = memory_new(shards, sizeof *g->node, err);
    g->first_term = memory_new(size + 1, sizeof *g->first_term, err);
    if (!g->node || !g->first_term) return STATUS_FAILED;
    // What the last slices reach beyond the first record is the second one's place: the terms have
    // left by then.
    if (size > 1 && size * FLOAT4 > e->stride)
        return error_set(err, STATUS_FAILED, "cannot reduce: %zu ranks for a record of %zu floats",
                         size, e->stride);
    TRY(cuda_take(e, shards * sizeof *g->merges, &g->merges, err));
    TRY(cuda_take_host(e, shards * sizeof *g->merges, &g->merges_host, err));
    TRY(cuda_take_host(e, RECORD_TAIL * sizeof *g->wishes, &g->wishes, err));
out:
    return rc;
}

status cuda_group_join(engine *e, const engine_group *member, error *err) {
    static const char what[] = "joining a group";
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    status rc;
    cuda_group *g = memory_new(1, sizeof *g, err);
    if (!g) return STATUS_FAILED;
    e->group = g; // which cuda_group_close frees
    g->member = *member;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(take_memory(e, g, err));
    memcpy(&id, member->id, sizeof id);
    config.blocking = 0;
    TRY(check(e, ncclCommInitRankConfig(&g->comm, member->size, id, member->rank, &config), what,
              err));
    TRY(wait_for(e, LAUNCHED, what, err));
out:
    return rc;
}

// Aborted, not destroyed: that would wait for ranks that may be gone. Whoever comes here has waited
// for its last reduction, so nothing is lost.
void cuda_group_close(engine *e) {
    cuda_group *g = e->group;
    if (!g) return;
    give_up(g);
    free(g->node);
    free(g->first_term);
    free(g);
    e->group = NULL;
}

// ---- The order of a sum ----

// Behind vector k of those that reduce.cu adds.
static void set_merges(cuda_group *g, int k, int merges) {
    g->merges_changed |= g->merges_host[k] != merges;
    g->merges_host[k] = merges;
}

// The copy before is over: its reduction was waited for.
static status send_merges(const engine *e, int count, error *err) {
    cuda_group *g = e->group;
    if (!g->merges_changed) return STATUS_OK;
    g->merges_changed = false;
    return cuda_check(e,
                      cudaMemcpyAsync(g->merges, g->merges_host, (size_t)count * sizeof *g->merges,
                                      cudaMemcpyHostToDevice, e->stream),
                      "sending the order of a sum", err);
}

// ---- The exact reduction ----

// Floats of slice q.
static size_t slice_length(const engine *e, int q) {
    const size_t slice = e->group->slice, begin = (size_t)q * slice;
    if (begin >= e->stride) return 0;
    return e->stride - begin < slice ? e->stride - begin : slice;
}

// The terms of a step, and room for them. There are more of them in a step than in the one before
// once or twice in the life of an engine: what was too small is not given back before its end.
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
    for (int t = 0; t < terms; t++)
        set_merges(g, t, reduction_tree_node_merges(&e->tree, g->node[t]));
    const size_t floats = (size_t)terms * g->slice;
    if (floats <= g->room) return STATUS_OK;
    g->room = floats;
    return cuda_take(e, floats * sizeof(float), &g->received, err);
}

static ncclResult_t send_and_receive(const engine *e) {
    const cuda_group *g = e->group;
    const int size = g->member.size, rank = g->member.rank;
    const size_t mine = slice_length(e, rank);
    ncclResult_t code = ncclGroupStart();
    if (code != ncclSuccess) return code;
    for (int q = 0; q < size; q++)
        for (int k = 0; k < e->record_count && slice_length(e, q) > 0 && is_good(code); k++)
            code = ncclSend(e->sums + (size_t)k * e->stride + (size_t)q * g->slice,
                            slice_length(e, q), ncclFloat, q, g->comm, e->stream);
    for (int r = 0; r < size; r++)
        for (int t = g->first_term[r]; t < g->first_term[r + 1] && mine > 0; t++)
            if (is_good(code))
                code = ncclRecv(g->received + (size_t)t * g->slice, mine, ncclFloat, r, g->comm,
                                e->stream);
    const ncclResult_t end = ncclGroupEnd();
    return is_good(code) ? end : code;
}

static status add_terms(const engine *e, error *err) {
    const cuda_group *g = e->group;
    const int terms = g->first_term[g->member.size];
    const cut c = {.end = terms};
    const reduce_task t = {.records = {g->received, g->slice},
                           .merges = g->merges,
                           .n = slice_length(e, g->member.rank),
                           .out = e->sums + (size_t)g->member.rank * g->slice,
                           .out_stride = g->slice};
    status rc;
    TRY(send_merges(e, terms, err));
    cuda_reduce(e->stream, &c, &t);
    rc = cuda_check(e, cudaGetLastError(), "launching the sum of all ranks' records", err);
out:
    return rc;
}

static status reduce_exact(engine *e, const int *first_leaf, error *err) {
    cuda_group *g = e->group;
    static const char exchanging[] = "exchanging slices", gathering[] = "gathering slices";
    status rc;
    TRY(find_terms(e, first_leaf, err));
    TRY(check(e, send_and_receive(e), exchanging, err));
    TRY(wait_for(e, LAUNCHED, exchanging, err));
    TRY(add_terms(e, err));
    TRY(check(e,
              ncclAllGather(e->sums + (size_t)g->member.rank * g->slice, e->sums, g->slice,
                            ncclFloat, g->comm, e->stream),
              gathering, err));
    TRY(wait_for(e, LAUNCHED, gathering, err));
out:
    return rc;
}

// ---- The fast reduction ----

// The first record becomes the sum of all of this engine.
static status add_own(const engine *e, error *err) {
    cuda_group *g = e->group;
    const cut c = {.end = e->record_count};
    const reduce_task t = {{e->sums, e->stride}, g->merges, e->stride, e->sums, e->stride};
    status rc;
    if (e->record_count == 1) return STATUS_OK;
    if (e->record_count == 0)
        return cuda_check(e, cudaMemsetAsync(e->sums, 0, e->stride * sizeof(float), e->stream),
                          "clearing a record", err);
    for (int k = 0; k < e->record_count; k++) set_merges(g, k, k > 0);
    TRY(send_merges(e, e->record_count, err));
    cuda_reduce(e->stream, &c, &t);
    rc = cuda_check(e, cudaGetLastError(), "launching the sum of records", err);
out:
    return rc;
}

static status reduce_fast(engine *e, error *err) {
    static const char what[] = "reducing";
    status rc;
    TRY(add_own(e, err));
    TRY(check(
        e,
        ncclAllReduce(e->sums, e->sums, e->stride, ncclFloat, ncclSum, e->group->comm, e->stream),
        what, err));
    TRY(wait_for(e, LAUNCHED, what, err));
out:
    return rc;
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
// all others. An all-reduce of one vector sends as much.
static group_traffic count_traffic(const engine *e, int vectors, bool exact) {
    const cuda_group *g = e->group;
    const size_t own = slice_length(e, g->member.rank), others = (size_t)g->member.size - 1;
    const size_t sent = (size_t)(exact ? vectors : 1) * (e->stride - own) + own * others;
    return (group_traffic){vectors, sent * sizeof(float)};
}

status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, float *wishes, int n,
                         group_traffic *traffic, error *err) {
    cuda_group *g = e->group;
    status rc;
    if (!g || !g->comm || n >= RECORD_TAIL)
        return error_set(err, STATUS_FAILED, "cannot reduce: 'cuda:%d' (%s) is in no group",
                         e->options.device, e->name);
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(cuda_pending_failure(e, err));
    TRY(put_wishes(e, wishes, n, err));
    TRY(exact ? reduce_exact(e, first_leaf, err) : reduce_fast(e, err));
    TRY(move_wishes(e, n, false, err));
    TRY(wait_for(e, FINISHED, "reducing", err));
    memcpy(wishes, g->wishes, (size_t)n * sizeof *wishes);
    *traffic = count_traffic(e, e->record_count, exact);
out:
    return rc;
}
