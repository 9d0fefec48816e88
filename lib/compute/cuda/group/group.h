// SPDX-License-Identifier: MIT
// group.h - engines of several ranks that reduce among themselves (backend.h, "Engines that reduce
// among themselves"). group.c holds the common part and tries the *transports* in turn: nccl.c (one
// device per rank), then ipc.c (ranks of one host that read each other's device memory).
// nccl_absent.c replaces nccl.c in a build without NCCL. buckets.c: reductions as part of a step;
// waiting.c: waiting for other ranks.
//
// The vectors of all ranks, in rank order, are the *terms* of a reduction: each belongs to a node
// of a cover of the reduction tree, which every rank computes alike. With every transport, rank r
// adds slice r of the terms (plan/slices.h), and the slices form the reduced bucket.
#ifndef LOCKSTEP_COMPUTE_CUDA_GROUP_GROUP_H
#define LOCKSTEP_COMPUTE_CUDA_GROUP_GROUP_H

#include "compute/cuda/plan/slices.h"
#include "compute/cuda/run/engine.h"

enum { GROUP_DEVICE_BYTES = 16 };

// What ranks exchange first. The same in a build without NCCL.
typedef struct group_card {
    unsigned char device[GROUP_DEVICE_BYTES]; // its UUID
    bool has_device;                          // the UUID is known
    bool nccl;                                // this build has NCCL
    size_t gradient_floats, shards;           // floats, V: the same on all ranks
} group_card;

// A part of the gradient buffer that is reduced in a step.
typedef struct bucket {
    slices slices;
    int behind;              // index of the operation that completes it
    cudaEvent_t begun, done; // in steps that are marked
} bucket;

// Tests once whether the work is done, without waiting.
typedef status group_look(const cuda_group *g, const char *what, bool *done, error *err);

typedef struct group_transport {
    const char *name;        // as in the manifest
    bool (*available)(void); // is it in this build, with all that it needs? Only of cuda_nccl
    // Collective, with the same answer on every rank: can this group use the transport? If not,
    // `why` gives a reason, from this rank or another. `leave` frees anything prepared here.
    status (*join)(cuda_group *g, const group_card *cards, bool *joined, error *why, error *err);
    // Can a reduction be captured in a graph? Then it can be part of a step.
    bool graphable;
    // Before a step's reduction: allocates memory, and does all else that a capture forbids.
    status (*prepare)(cuda_group *g, error *err);
    // Enqueues the reduction of a bucket of the terms in a stream; the sum replaces that of the
    // first gradient buffer.
    status (*reduce)(cuda_group *g, const slices *b, launch_stream s, error *err);
    group_look *look; // is all work enqueued there done?
    // Looks at the transport's own threads: fails if pending work will never finish; done: they are
    // idle. NULL: there are none, and streams report failures.
    group_look *listen;
    // Collective, after the reduction is done here; NULL: nothing is left to do.
    status (*settle)(cuda_group *g, error *err);
    // Collective, and all is well: gives up access to other ranks' memory. The ranks meet after it.
    status (*part)(cuda_group *g, error *err);
    // Something has failed; no rank may go on waiting for the others. May be called again.
    void (*abort_group)(cuda_group *g);
    void (*leave)(cuda_group *g); // frees g->own, which may be NULL
} group_transport;

extern const group_transport cuda_nccl, cuda_ipc;

struct cuda_group {
    engine *engine; // and parts of it:
    cuda_device *device;
    const cuda_plan *plan;
    const step_shards *shards;
    const gradient_arrays *gradients;
    group_place *place;
    const group_transport *transport;
    void *own; // the transport's private data
    engine_group member;
    unsigned char *met; // [size]
    int *node;          // [V]: node of each term
    int *first_term;    // [size + 1]: first term of each rank
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
    cudaStream_t stream; // concurrent with backward
    // The graphs were captured with these: a transport's calls fix the number of terms.
    bool captured_exact;
    int *captured_first_term, captured_request_count;
};

// group.c
// Returns once all ranks have called it.
status cuda_group_meet(const cuda_group *g, error *err) MUST_CHECK;
// Returns the whole gradient buffer's slices.
slices cuda_group_whole(const cuda_group *g);
// Replaces the first gradient buffer by the sum of all of this engine's gradient buffers, in order:
// a fast reduction begins with one vector per rank.
status cuda_group_add_own(const cuda_group *g, const slices *b, launch_stream s,
                          error *err) MUST_CHECK;
// Copy this reduction's requests into the tail of the first gradient buffer, or back from it.
status cuda_group_put_requests(const cuda_group *g, launch_stream s, error *err) MUST_CHECK;
status cuda_group_take_requests(const cuda_group *g, launch_stream s, error *err) MUST_CHECK;
// For the table:
status cuda_group_join(engine *e, const engine_group *member, group_way *way, error *why,
                       error *err) MUST_CHECK;
status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                         group_traffic *traffic, error *err) MUST_CHECK;
status cuda_group_result(engine *e, float *requests, int n, error *err) MUST_CHECK;
status cuda_group_leave(engine *e, error *err) MUST_CHECK;
// Leaves the group, if there is one, without the other ranks.
void cuda_group_close(engine *e);

// waiting.c
// Waits until `look` reports that the work is done or fails, or until `alive` fails.
status cuda_group_wait(cuda_group *g, group_look *look, const char *what, error *err) MUST_CHECK;
group_look cuda_group_look_at_stream;
void cuda_group_nap(long ns);
// Hooks (run/hooks.h):
bool cuda_group_is_idle(cuda_group *g);
status cuda_group_finish(cuda_group *g, error *err) MUST_CHECK;
status cuda_group_wait_for_turn(cuda_group *g, error *err) MUST_CHECK;
void cuda_group_abort(cuda_group *g);

// buckets.c
// Called when the group has been joined, if its transport is graphable.
status cuda_form_buckets(cuda_group *g, error *err) MUST_CHECK;
void cuda_forget_buckets(cuda_group *g);
// Hooks:
status cuda_reduce_bucket_behind(cuda_group *g, int behind, bool forked, error *err) MUST_CHECK;
status cuda_wait_for_buckets(cuda_group *g, error *err) MUST_CHECK;
uint64_t cuda_time_of_buckets(const cuda_group *g);
bool cuda_group_fits_graph(cuda_group *g);

#endif
