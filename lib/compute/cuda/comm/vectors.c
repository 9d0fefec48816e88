// SPDX-License-Identifier: MIT
// What transports and buckets do with the gradient buffers of this rank.
#include "compute/cuda/comm/cuda_comm.h"

status cuda_comm_barrier(const cuda_comm *c, error *err) {
    const unsigned char here = 1;
    return c->ranks.all_gather(c->ranks.context, &here, sizeof here, c->arrived, err);
}

slices cuda_comm_whole(const cuda_comm *c) {
    return cuda_slices(0, c->gradients->floats, c->ranks.size);
}

status cuda_comm_add_own(const cuda_comm *c, const slices *b, launch_stream s, error *err) {
    const size_t floats = b->end - b->first;
    float *const sums = c->gradients->sums + b->first;
    const cut all = {.end = c->shards->cover_count};
    const reduce_task t = {.gradients = {sums, c->gradients->stride},
                           .merges = c->merges,
                           .n = floats,
                           .out = sums,
                           .out_stride = c->gradients->stride};
    if (c->shards->cover_count == 1) return STATUS_OK;
    if (c->shards->cover_count == 0) {
        launch_after_other(s);
        return cuda_check(c->device, cudaMemsetAsync(sums, 0, floats * sizeof *sums, s.stream),
                          "clearing a record", err);
    }
    cuda_reduce(s, &all, &t);
    return cuda_check(c->device, cudaGetLastError(), "launching the sum of records", err);
}

// ---- Requests ----

// Copies between the pinned requests and the tail of the first gradient buffer.
static status move_requests(const cuda_comm *c, bool in, launch_stream s, error *err) {
    const size_t n = (size_t)c->request_count;
    float *there = c->gradients->sums + gradient_floats(c->plan->program) - n,
          *here = cuda_comm_requests(c);
    const enum cudaMemcpyKind kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    launch_after_other(s);
    return cuda_check(
        c->device,
        cudaMemcpyAsync(in ? there : here, in ? here : there, n * sizeof *here, kind, s.stream),
        "copying requests", err);
}

// A rank without a vector contributes no requests.
status cuda_comm_put_requests(const cuda_comm *c, launch_stream s, error *err) {
    return c->shards->cover_count == 0 ? STATUS_OK : move_requests(c, true, s, err);
}

status cuda_comm_take_requests(const cuda_comm *c, launch_stream s, error *err) {
    return move_requests(c, false, s, err);
}
