// SPDX-License-Identifier: MIT
// cuda_comm.h - the communicator of engines that reduce among themselves (backend.h, "Engines that
// reduce among themselves"). joining.c tries the *transports* in turn: nccl.c (one device per
// rank), then ipc.c (ranks of one host that read each other's device memory). nccl_absent.c
// replaces nccl.c in a build without NCCL. reducing.c: a reduction; buckets.c: reductions as part
// of a step; below all of these, vectors.c: this rank's gradient buffers, and waiting.c: waiting
// for other ranks.
//
// The vectors of all ranks, in rank order, are the *terms* of a reduction: each belongs to a node
// of a cover of the reduction tree, which every rank computes alike. With every transport, rank r
// adds slice r of the terms (plan/shards.h), and the slices form the reduced bucket.
#ifndef LOCKSTEP_COMPUTE_CUDA_COMM_CUDA_COMM_H
#define LOCKSTEP_COMPUTE_CUDA_COMM_CUDA_COMM_H

#include "compute/cuda/run/cuda_engine.h"

enum { COMM_DEVICE_BYTES = 16 };

// What ranks exchange first. The same in a build without NCCL.
typedef struct comm_card {
    unsigned char device[COMM_DEVICE_BYTES]; // its UUID
    bool has_device;                         // the UUID is known
    bool nccl;                               // this build has NCCL
    size_t gradient_floats, shards;          // floats, V: the same on all ranks
} comm_card;

// A part of the gradient buffer that is reduced in a step.
typedef struct bucket {
    slices slices;
    int behind;              // index of the operation that completes it
    cudaEvent_t begun, done; // in steps that are marked
} bucket;

// Tests once whether the work is done, without waiting.
typedef status comm_look(const cuda_comm *c, const char *what, bool *done, error *err);

typedef struct comm_transport {
    const char *name;        // as in the manifest
    bool (*available)(void); // is it in this build, with all that it needs? Only of cuda_nccl
    // Collective, with the same answer on every rank: can these ranks use the transport? If not,
    // `why` gives a reason, from this rank or another. `leave` frees anything prepared here.
    status (*join)(cuda_comm *c, const comm_card *cards, bool *joined, error *why, error *err);
    // Can a reduction be captured in a graph? Then it can be part of a step.
    bool graphable;
    // Before a step's reduction: allocates memory, and does all else that a capture forbids.
    status (*prepare)(cuda_comm *c, error *err);
    // Enqueues the reduction of a bucket of the terms in a stream; the sum replaces that of the
    // first gradient buffer.
    status (*reduce)(cuda_comm *c, const slices *b, launch_stream s, error *err);
    comm_look *look; // is all work enqueued there done?
    // Looks at the transport's own threads: fails if pending work will never finish; done: they are
    // idle. NULL: there are none, and streams report failures.
    comm_look *listen;
    // Collective, after the reduction is done here; NULL: nothing is left to do.
    status (*settle)(cuda_comm *c, error *err);
    // Collective, and all is well: gives up access to other ranks' memory. The ranks meet after it.
    status (*part)(cuda_comm *c, error *err);
    // Something has failed; no rank may go on waiting for the others. May be called again.
    void (*abort_comm)(cuda_comm *c);
    void (*leave)(cuda_comm *c); // frees c->own, which may be NULL
} comm_transport;

extern const comm_transport cuda_nccl, cuda_ipc;

struct cuda_comm {
    engine *engine; // and parts of it:
    cuda_device *device;
    const cuda_plan *plan;
    const step_shards *shards;
    const gradient_arrays *gradients;
    comm_place *place;
    const comm_transport *transport;
    void *own; // the transport's private data
    engine_comm ranks;
    unsigned char *arrived; // [size]
    int *node;              // [V]: node of each term
    int *first_term;        // [size + 1]: first term of each rank
    // For reduce.cu, on the host and on the device: [V] for the vectors of a step, then [size] for
    // one vector per rank, in rank order.
    int *merges_host, *merges;
    bool order_changed; // since the host's merges were last sent
    // Of the current reduction, or the last one:
    bool exact;
    float *requests; // [STEPS_AHEAD][GRADIENT_TAIL], pinned
    int request_count;
    // For reductions that are part of a step, from the end of the gradient buffer to its beginning.
    bucket *buckets;
    int bucket_count;
    uint32_t frozen;     // groups of parameters, in the plan that they are for
    cudaStream_t stream; // concurrent with backward
    // The graphs were captured with these: a transport's calls fix the number of terms.
    bool captured_exact;
    int *captured_first_term, captured_request_count;
};

// Where the requests of this turn's reduction are.
static inline float *cuda_comm_requests(const cuda_comm *c) {
    return c->requests + cuda_turn(&c->engine->input) * GRADIENT_TAIL;
}

// vectors.c
// Returns once all ranks have called it.
status cuda_comm_barrier(const cuda_comm *c, error *err) MUST_CHECK;
// Returns the whole gradient buffer's slices.
slices cuda_comm_whole(const cuda_comm *c);
// Replaces the first gradient buffer by the sum of all of this engine's gradient buffers, in order:
// a fast reduction begins with one vector per rank.
status cuda_comm_add_own(const cuda_comm *c, const slices *b, launch_stream s,
                         error *err) MUST_CHECK;
// Copy this reduction's requests into the tail of the first gradient buffer, or back from it.
status cuda_comm_put_requests(const cuda_comm *c, launch_stream s, error *err) MUST_CHECK;
status cuda_comm_take_requests(const cuda_comm *c, launch_stream s, error *err) MUST_CHECK;

// reducing.c, for the table:
status cuda_comm_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                        comm_traffic *traffic, error *err) MUST_CHECK;
status cuda_comm_result(engine *e, float *requests, int n, error *err) MUST_CHECK;
// joining.c, for the table:
status cuda_comm_join(engine *e, const engine_comm *ranks, comm_way *way, error *why,
                      error *err) MUST_CHECK;
status cuda_comm_leave(engine *e, error *err) MUST_CHECK;
// Leaves the communicator, if there is one, without the other ranks.
void cuda_comm_close(engine *e);

// waiting.c
// Waits until `look` reports that the work is done or fails, or until `alive` fails.
status cuda_comm_wait(cuda_comm *c, comm_look *look, const char *what, error *err) MUST_CHECK;
comm_look cuda_comm_look_at_stream;
void cuda_comm_nap(long ns);
// Hooks (run/comm_hooks.h):
bool cuda_comm_is_idle(cuda_comm *c);
status cuda_comm_finish(cuda_comm *c, error *err) MUST_CHECK;
status cuda_comm_wait_for_turn(cuda_comm *c, error *err) MUST_CHECK;
void cuda_comm_abort(cuda_comm *c);

// buckets.c: called when the ranks have joined, if its transport is graphable.
status cuda_form_buckets(cuda_comm *c, error *err) MUST_CHECK;
void cuda_forget_buckets(cuda_comm *c);
// Hooks:
status cuda_reduce_bucket_behind(cuda_comm *c, int behind, bool forked, error *err) MUST_CHECK;
status cuda_wait_for_buckets(cuda_comm *c, error *err) MUST_CHECK;
uint64_t cuda_time_of_buckets(const cuda_comm *c);
bool cuda_comm_fits_graph(cuda_comm *c);

#endif
