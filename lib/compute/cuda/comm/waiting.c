// SPDX-License-Identifier: MIT
// Waiting for other ranks, and giving up.
//
// The device waits for other ranks; if one of them dies, it may wait forever. So no code calls
// cudaStreamSynchronize during a reduction: cuda_comm_wait() tests the stream and, through the
// communicator's `alive`, the other ranks, until all work is done or something has failed.
#include <time.h>

#include "base/clock.h"
#include "compute/cuda/comm/cuda_comm.h"

enum {
    SPIN_NS = 1000000, // after this long, a wait sleeps between tests
    NAP_NS = 50000,
    ALIVE_NS = BACKEND_ALIVE_MS * 1000000,
    REST_NS = 1000000000,
};

void cuda_comm_nap(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

void cuda_comm_abort(cuda_comm *c) {
    c->place->failed = true;
    if (c->transport) c->transport->abort_comm(c);
}

status cuda_comm_look_at_stream(const cuda_comm *c, const char *what, bool *done, error *err) {
    const cudaError_t code = cudaStreamQuery(c->device->stream);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(c->device, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return STATUS_OK;
}

status cuda_comm_wait(cuda_comm *c, comm_look *look, const char *what, error *err) {
    const engine_comm *ranks = &c->ranks;
    const uint64_t begin = clock_now();
    uint64_t asked = begin;
    bool done;
    status rc = STATUS_OK;
    for (;;) {
        TRY(look(c, what, &done, err));
        if (done) break;
        const uint64_t now = clock_now();
        if (now - asked >= ALIVE_NS) {
            TRY(ranks->alive(ranks->context, err));
            asked = now;
        }
        if (now - begin > SPIN_NS) cuda_comm_nap(NAP_NS);
    }
out:
    c->place->failed |= rc != STATUS_OK;
    return rc;
}

bool cuda_comm_is_idle(cuda_comm *c) {
    const comm_transport *transport = c->transport;
    const uint64_t begin = clock_now();
    bool idle = !transport->listen;
    error ignored; // the caller has already failed
    while (!idle && !c->device->stuck &&
           transport->listen(c, "capturing a step", &idle, &ignored) == STATUS_OK) {
        if (!idle) cuda_comm_nap(NAP_NS);
        c->device->stuck = !idle && clock_now() - begin > REST_NS;
    }
    return !c->device->stuck;
}

status cuda_comm_finish(cuda_comm *c, error *err) {
    status rc;
    c->place->under_way = false; // a failed rank has given up and waits no more
    TRY(cuda_comm_wait(c, c->transport->look, "reducing", err));
    if (c->transport->settle) TRY(c->transport->settle(c, err));
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

static status check_turn(const cuda_comm *c, const char *what, bool *done, error *err) {
    const comm_transport *transport = c->transport;
    const input_arrays *in = &c->engine->input;
    const cudaError_t code = cudaEventQuery(in->ahead[cuda_turn(in)].done);
    bool idle;
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady) return cuda_check(c->device, code, what, err);
    (void)cudaGetLastError(); // clears "not ready"
    return transport->listen ? transport->listen(c, what, &idle, err) : STATUS_OK;
}

status cuda_comm_wait_for_turn(cuda_comm *c, error *err) {
    const status rc = cuda_comm_wait(c, check_turn, "reducing", err);
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}
