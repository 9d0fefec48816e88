// SPDX-License-Identifier: MIT
// Exchange between engines of one process: memory, copies, and the sum of their gradient buffers
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
#include "compute/cuda/run/cuda_engine.h"

#include <stdbool.h>

// ---- Memory and copies ----

// Waits until the memory is cleared: other engines write into it from their streams.
float *cuda_allocate(engine *e, size_t floats, error *err) {
    float *memory = NULL;
    status rc;
    TRY(cuda_select(&e->device, err));
    TRY(cuda_take(&e->device, floats * sizeof *memory, &memory, err));
    TRY(cuda_sync(e, err));
out:
    return rc == STATUS_OK ? memory : NULL;
}

static status enqueue_copy(const cuda_device *d, engine_copy c, error *err) {
    if (c.floats == 0) return STATUS_OK;
    return cuda_enqueue_copy(d, c.to, c.from, c.floats * sizeof *c.to, cudaMemcpyDefault,
                             "copying between engines", err);
}

status cuda_copy(engine *e, const engine_copy *copies, int count, error *err) {
    NEED(cuda_begin(&e->device, err));
    for (int i = 0; i < count; i++) NEED(enqueue_copy(&e->device, copies[i], err));
    return cuda_sync(e, err);
}

// ---- Access ----

// Lets a device access another one's memory. It is no failure if it cannot.
static bool open_access(int device, int peer) {
    int can = 0;
    cudaError_t code = cudaDeviceCanAccessPeer(&can, device, peer);
    if (code == cudaSuccess && can) code = cudaSetDevice(device);
    if (code == cudaSuccess && can) code = cudaDeviceEnablePeerAccess(peer, 0);
    if (code != cudaSuccess) (void)cudaGetLastError(); // not a failure of the engine
    return can && (code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled);
}

const char *cuda_connect(engine *const *engines, int count) {
    bool several = false, all = true;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            const int device = engines[i]->device.index, peer = engines[k]->device.index;
            if (device == peer) continue;
            several = true;
            all &= open_access(device, peer);
        }
    return !several ? "device memory" : all ? "peer copies" : "host copies";
}

// ---- The sum of gradient buffers ----

// Counts the terms, and sets the number of additions after each of them: reduce.cu. There are at
// most V terms, because each leaf is a shard.
static status list_terms(engine *const *engines, int count, bool exact, int *terms, error *err) {
    cuda_device *d = &engines[0]->device;
    peer_terms *t = &engines[0]->terms;
    const step_shards *shards = &engines[0]->shards;
    const size_t bytes = (size_t)shards->count * sizeof *t->merges;
    *terms = 0;
    if (!t->merges) {
        NEED(cuda_take(d, bytes, &t->merges, err));
        NEED(cuda_take_host(d, bytes, &t->merges_host, err));
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->shards.cover_count; k++, ++*terms)
            t->merges_host[*terms] =
                exact ? reduction_tree_node_merges(&shards->tree, engines[i]->shards.cover[k])
                      : *terms > 0;
    return cuda_enqueue_copy(d, t->merges, t->merges_host, (size_t)*terms * sizeof *t->merges,
                             cudaMemcpyHostToDevice, "sending the order of a sum", err);
}

// The number of terms grows only once or twice in an engine's lifetime: memory that has become too
// small is not freed before the engine's end.
static status fetch_terms(engine *const *engines, int count, int terms, error *err) {
    engine *const first = engines[0];
    peer_terms *t = &first->terms;
    const size_t stride = first->gradients.stride;
    engine_copy c = {.floats = gradient_floats(first->plan.program)};
    if (terms > t->room) {
        NEED(cuda_take(&first->device, (size_t)terms * stride * sizeof(float), &t->gradients, err));
        t->room = terms;
    }
    c.to = t->gradients;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < engines[i]->shards.cover_count; k++, c.to += stride) {
            c.from = engines[i]->gradients.sums + (size_t)k * engines[i]->gradients.stride;
            NEED(enqueue_copy(&first->device, c, err));
        }
    return STATUS_OK;
}

// The gradient buffers are complete: run() waited for them. The engine that makes the sum copies
// them one after another: they all pass through its own link anyway.
static status sum_terms(engine *const *engines, int count, bool exact, error *err) {
    engine *const first = engines[0];
    const gradient_arrays *r = &first->gradients;
    int terms;
    NEED(list_terms(engines, count, exact, &terms, err));
    NEED(fetch_terms(engines, count, terms, err));
    const cut c = {.end = terms};
    const reduce_task t = {.gradients = {first->terms.gradients, r->stride},
                           .merges = first->terms.merges,
                           .n = gradient_floats(first->plan.program),
                           .out = r->sums,
                           .out_stride = r->stride};
    cuda_reduce(cuda_main(&first->device), &c, &t);
    NEED(cuda_check(&first->device, cudaGetLastError(), "launching the sum of engines' records",
                    err));
    return cuda_sync(first, err);
}

// A stage, which has all shards, has not yet added up those of its ranges.
status cuda_reduce_engines(engine *const *engines, int count, bool exact, error *err) {
    engine *const first = engines[0];
    gradient_arrays *r = &first->gradients;
    NEED(cuda_begin(&first->device, err));
    first->shards.run_first = 0;
    first->shards.run_end = cuda_own_shards(&first->shards);
    if (first->plan.options.stage)
        NEED(cuda_sum_gradients(first, 0, r->floats, cuda_main(&first->device), err));
    if (count > 1) NEED(sum_terms(engines, count, exact, err));
    r->here = r->reduced_here = false;
    r->reduced = true;
    return STATUS_OK;
}
