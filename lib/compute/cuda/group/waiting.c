// SPDX-License-Identifier: MIT
// Waiting for other ranks, and giving up.
//
// The device waits for other ranks; if one of them dies, it may wait forever. So no code calls
// cudaStreamSynchronize during a reduction: cuda_group_wait() tests the stream and, through the
// group's `alive`, the other ranks, until all work is done or something has failed.
#include <time.h>

#include "base/clock.h"
#include "compute/cuda/group/group.h"

enum {
    SPIN_NS = 1000000, // after this long, a wait sleeps between tests
    NAP_NS = 50000,
    ALIVE_NS = BACKEND_ALIVE_MS * 1000000,
    REST_NS = 1000000000,
};

void cuda_group_nap(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

void cuda_group_abort(cuda_group *g) {
    g->place->failed = true;
    if (g->transport) g->transport->abort_group(g);
}

status cuda_group_look_at_stream(const cuda_group *g, const char *what, bool *done, error *err) {
    const cudaError_t code = cudaStreamQuery(g->device->stream);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(g->device, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return STATUS_OK;
}

status cuda_group_wait(cuda_group *g, group_look *look, const char *what, error *err) {
    const engine_group *member = &g->member;
    const uint64_t begin = clock_now();
    uint64_t asked = begin;
    bool done;
    status rc = STATUS_OK;
    for (;;) {
        TRY(look(g, what, &done, err));
        if (done) break;
        const uint64_t now = clock_now();
        if (now - asked >= ALIVE_NS) {
            TRY(member->alive(member->context, err));
            asked = now;
        }
        if (now - begin > SPIN_NS) cuda_group_nap(NAP_NS);
    }
out:
    g->place->failed |= rc != STATUS_OK;
    return rc;
}

bool cuda_group_is_idle(cuda_group *g) {
    const group_transport *transport = g->transport;
    const uint64_t begin = clock_now();
    bool idle = !transport->listen;
    error ignored; // the caller has already failed
    while (!idle && !g->device->stuck &&
           transport->listen(g, "capturing a step", &idle, &ignored) == STATUS_OK) {
        if (!idle) cuda_group_nap(NAP_NS);
        g->device->stuck = !idle && clock_now() - begin > REST_NS;
    }
    return !g->device->stuck;
}

status cuda_group_finish(cuda_group *g, error *err) {
    status rc;
    g->place->under_way = false; // a failed rank has given up and waits no more
    TRY(cuda_group_wait(g, g->transport->look, "reducing", err));
    if (g->transport->settle) TRY(g->transport->settle(g, err));
out:
    if (rc != STATUS_OK) cuda_group_abort(g);
    return rc;
}

static status check_turn(const cuda_group *g, const char *what, bool *done, error *err) {
    const group_transport *transport = g->transport;
    const input_arrays *in = &g->engine->input;
    const cudaError_t code = cudaEventQuery(in->ahead[cuda_turn(in)].done);
    bool idle;
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(g->device, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return transport->listen ? transport->listen(g, what, &idle, err) : STATUS_OK;
}

status cuda_group_wait_for_turn(cuda_group *g, error *err) {
    const status rc = cuda_group_wait(g, check_turn, "reducing", err);
    if (rc != STATUS_OK) cuda_group_abort(g);
    return rc;
}
