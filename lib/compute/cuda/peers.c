// What engines of one process give each other: memory, copies, and the sum of their records
// (DataParallel, pipelines).
//
// **Where things lie.** Activations, logits and their gradients are written into memory of the
// engine that reads them: a write is sent off, a read has to wait for its answer. All addresses are
// of one space, so a copy says only from where to where, and the driver finds the way: inside of a
// device, from one to another where cuda_connect() has opened it, else through the host.
//
// **Who waits for whom.** Engines are driven by threads of their own, and their streams know
// nothing of each other. So each function of the table that gives or takes ends when the device is
// done with it, and what orders them is the strategy, on the host: the giver's call ends before the
// taker's begins.
#include "compute/cuda/engine.h"

#include <stdbool.h>

// ---- Memory and copies ----

// Waits until it is cleared: others write into it from their streams.
float *cuda_allocate(engine *e, size_t floats, error *err) {
    float *memory = NULL;
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(cuda_take(e, floats * sizeof *memory, &memory, err));
    TRY(cuda_sync(e, err));
out:
    return rc == STATUS_OK ? memory : NULL;
}

static status enqueue_copy(const engine *e, engine_copy c, error *err) {
    const size_t bytes = c.floats * sizeof *c.to;
    if (bytes == 0) return STATUS_OK;
    return cuda_check(e, cudaMemcpyAsync(c.to, c.from, bytes, cudaMemcpyDefault, e->stream),
                      "copying between engines", err);
}

status cuda_copy(engine *e, const engine_copy *copies, int count, error *err) {
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "choosing the device", err));
    TRY(cuda_pending_failure(e, err));
    for (int i = 0; i < count; i++) TRY(enqueue_copy(e, copies[i], err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

// ---- Access ----

// Lets the device of `e` reach the memory of another one. It is no failure when it cannot.
static bool open_access(const engine *e, int peer) {
    int can = 0;
    cudaError_t code = cudaDeviceCanAccessPeer(&can, e->options.device, peer);
    if (code == cudaSuccess && can) code = cudaSetDevice(e->options.device);
    if (code == cudaSuccess && can) code = cudaDeviceEnablePeerAccess(peer, 0);
    if (code != cudaSuccess) (void)cudaGetLastError(); // nobody's failure
    return can && (code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled);
}

const char *cuda_connect(engine *const *engines, int count) {
    bool several = false, all = true;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            if (engines[i]->options.device == engines[k]->options.device) continue;
            several = true;
            all &= open_access(engines[i], engines[k]->options.device);
        }
    return !several ? "device memory" : all ? "peer copies" : "host copies";
}

// ---- The sum of records ----

// How many there are, and behind which of them so many sums are added: reduce.cu. They are no more
// than shards, because each leaf is one.
static status list_terms(engine *const *engines, int count, bool exact, int *terms, error *err) {
    engine *const first = engines[0];
    const size_t bytes = (size_t)first->options.shards * sizeof(int);
    status rc = STATUS_OK;
    *terms = 0;
    if (!first->term_merges) {
        TRY(cuda_take(first, bytes, &first->term_merges, err));
        TRY(cuda_take_host(first, bytes, &first->term_merges_host, err));
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->record_count; k++, ++*terms)
            first->term_merges_host[*terms] =
                exact ? reduction_tree_node_merges(&first->tree, engines[i]->cover[k]) : *terms > 0;
    rc = cuda_check(first,
                    cudaMemcpyAsync(first->term_merges, first->term_merges_host,
                                    (size_t)*terms * sizeof(int), cudaMemcpyHostToDevice,
                                    first->stream),
                    "sending the order of a sum", err);
out:
    return rc;
}

// There are more terms in a step than in those before once or twice in the life of an engine: what
// was too small is not given back before its end.
static status fetch_terms(engine *const *engines, int count, int terms, error *err) {
    engine *const first = engines[0];
    engine_copy c = {.floats = record_floats(first->program)};
    status rc = STATUS_OK;
    if (terms > first->term_room) {
        TRY(cuda_take(first, (size_t)terms * first->stride * sizeof(float), &first->terms, err));
        first->term_room = terms;
    }
    c.to = first->terms;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->record_count; k++, c.to += first->stride) {
            c.from = engines[i]->sums + (size_t)k * engines[i]->stride;
            TRY(enqueue_copy(first, c, err));
        }
out:
    return rc;
}

// The records are there: backward() waited for them. Who has the sum fetches them, one after the
// other: they all come through its own connection anyway.
status cuda_reduce_engines(engine *const *engines, int count, bool exact, error *err) {
    engine *const first = engines[0];
    int terms;
    status rc;
    TRY(cuda_check(first, cudaSetDevice(first->options.device), "choosing the device", err));
    TRY(cuda_pending_failure(first, err));
    TRY(list_terms(engines, count, exact, &terms, err));
    TRY(fetch_terms(engines, count, terms, err));
    const cut c = {.end = terms};
    const reduce_task t = {.records = {first->terms, first->stride},
                           .merges = first->term_merges,
                           .n = record_floats(first->program),
                           .out = first->sums,
                           .out_stride = first->stride};
    cuda_reduce(cuda_main(first), &c, &t);
    TRY(cuda_check(first, cudaGetLastError(), "launching the sum of engines' records", err));
    TRY(cuda_sync(first, err));
    first->records_here = first->reduced_here = false;
out:
    return rc;
}
