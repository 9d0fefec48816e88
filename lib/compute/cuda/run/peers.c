// SPDX-License-Identifier: MIT
// Exchange between engines of one process: memory, copies, and the sum of their records
// (DataParallel, pipelines).
//
// **Memory.** Activations, logits and their gradients are written into the memory of the engine
// that reads them: a write needs no answer, a read has to wait for one. All addresses belong to one
// address space, so a copy only names source and destination, and the driver finds the path: within
// a device, from one device to another if cuda_connect() has opened it, otherwise through the host.
//
// **Waiting.** Engines are driven by separate threads, and their streams are not synchronised. So
// each function of the table that sends or receives returns only when the device is done with it.
// The strategy orders these calls on the host: the sender's call returns before the receiver's
// begins.
#include "compute/cuda/engine.h"

#include <stdbool.h>

// ---- Memory and copies ----

// Waits until the memory is cleared: other engines write into it from their streams.
float *cuda_allocate(engine *e, size_t floats, error *err) {
    float *memory = NULL;
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
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
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    for (int i = 0; i < count; i++) TRY(enqueue_copy(e, copies[i], err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

// ---- Access ----

// Lets the device of `e` access another device's memory. It is no failure if it cannot.
static bool open_access(const engine *e, int peer) {
    int can = 0;
    cudaError_t code = cudaDeviceCanAccessPeer(&can, e->options.device, peer);
    if (code == cudaSuccess && can) code = cudaSetDevice(e->options.device);
    if (code == cudaSuccess && can) code = cudaDeviceEnablePeerAccess(peer, 0);
    if (code != cudaSuccess) (void)cudaGetLastError(); // not a failure of the engine
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

// Counts the terms, and sets the number of additions after each of them: reduce.cu. There are at
// most V terms, because each leaf is a shard.
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

// The number of terms grows only once or twice in an engine's lifetime: memory that has become too
// small is not freed before the engine's end.
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

// The records are complete: backward() waited for them. The engine that makes the sum copies them
// one after another: they all pass through its own link anyway.
status cuda_reduce_engines(engine *const *engines, int count, bool exact, error *err) {
    engine *const first = engines[0];
    int terms;
    status rc;
    TRY(cuda_check(first, cudaSetDevice(first->options.device), "selecting the device", err));
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
