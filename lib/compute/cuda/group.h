// group.h - engines of several ranks that reduce among themselves (backend.h, "Engines that reduce
// among themselves"). group.c does what is the same for all of them, and asks the *transports* in
// turn which one can: nccl.c (a device a rank), ipc.c (ranks of one host that read each other's
// device memory). nccl_absent.c takes the place of nccl.c in a build without.
//
// The vectors of all ranks, one rank after the other, are the *terms* of a reduction: they belong
// to nodes that cover the reduction tree, and everybody knows which. A record is cut into slices,
// one a rank; whatever the transport, rank r adds slice r of the terms, and the slices become the
// reduced record.
#ifndef LOCKSTEP_COMPUTE_CUDA_GROUP_H
#define LOCKSTEP_COMPUTE_CUDA_GROUP_H

#include "compute/cuda/engine.h"

enum { GROUP_DEVICE_BYTES = 16 };

// What ranks tell each other at first. The same in a build without NCCL.
typedef struct group_card {
    unsigned char device[GROUP_DEVICE_BYTES]; // its UUID
    bool has_device;                          // that is known
    bool nccl;                                // this build has it
    size_t record, shards;                    // floats, V: the same on all ranks
} group_card;

// One look at what is waited for, without waiting.
typedef status group_look(const engine *e, const char *what, bool *done, error *err);

typedef struct group_transport {
    const char *name; // as the manifest has it
    bool built;       // is it in this build?
    // All ranks together, and with the same answer: can this group use it? Else `why` says why not,
    // of this rank or of another. What was prepared then is left to `leave`.
    status (*join)(engine *e, const group_card *cards, bool *joined, error *why, error *err);
    // Puts the reduction of the terms into the stream; the sum becomes the first record.
    status (*reduce)(engine *e, bool exact, error *err);
    group_look *look; // is all done that was put there?
    // All ranks together, when that is done here; NULL: nothing is left to do.
    status (*settle)(engine *e, error *err);
    // Something has failed; nobody may wait for the others any more. May be called again.
    void (*give_up)(engine *e);
    void (*leave)(engine *e); // frees e->group->own, which may be NULL
} group_transport;

extern const group_transport cuda_nccl, cuda_ipc;

typedef struct cuda_group {
    const group_transport *transport;
    void *own; // the transport's
    engine_group member;
    bool failed;     // nothing is reduced any more
    size_t slice;    // floats; `size` slices are a record or a little more
    int *node;       // [V]: of each term
    int *first_term; // [size + 1]: where each rank's begin
    // Of reduce.cu, on the host and on the device: [V] for the vectors of a step; behind them
    // [size] for one vector a rank, in the order of ranks.
    int *merges_host, *merges;
    bool order_changed; // since the host's merges were sent
    float *wishes;      // [RECORD_TAIL], pinned
} cuda_group;

// Floats of slice q.
size_t cuda_group_slice(const engine *e, int q);
// Behind vector k of those that reduce.cu adds.
void cuda_group_merge(cuda_group *g, int k, int merges);
// Sends the merges where they have changed. Once a reduction: the one before was waited for, so the
// device has read what the host writes now.
status cuda_group_send_merges(engine *e, error *err) MUST_CHECK;
// The first record becomes the sum of all of this engine, in their order: with one vector a rank a
// fast reduction begins. It sets and sends the merges.
status cuda_group_add_own(engine *e, error *err) MUST_CHECK;

// Until `look` says that it is done, or fails, or `alive` does.
status cuda_group_wait(engine *e, group_look *look, const char *what, error *err) MUST_CHECK;
group_look cuda_group_look_at_stream;
void cuda_group_nap(long ns);

// For the table:
status cuda_group_join(engine *e, const engine_group *member, const char **transport, error *why,
                       error *err) MUST_CHECK;
status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, float *wishes, int n,
                         group_traffic *traffic, error *err) MUST_CHECK;
// Leaves the group, if there is one.
void cuda_group_close(engine *e);

#endif
