// group.h - engines of several ranks that reduce among themselves (backend.h, "Engines that reduce
// among themselves"). group.c does what is the same for all of them, and asks the *transports* in
// turn which one can: nccl.c (a device a rank), ipc.c (ranks of one host that read each other's
// device memory). nccl_absent.c takes the place of nccl.c in a build without. buckets.c: reductions
// that are part of a step.
//
// The vectors of all ranks, one rank after the other, are the *terms* of a reduction: they belong
// to nodes that cover the reduction tree, and everybody knows which. What is reduced at once, a
// *bucket* of the record or all of it, is cut into slices, one a rank; whatever the transport, rank
// r adds slice r of the terms, and the slices become the reduced bucket.
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

// A part of the record, or all of it. A bucket that does not end with the record has slices of
// equal length.
typedef struct bucket {
    size_t first, end; // floats
    size_t slice;      // `size` slices are the bucket or, at the end of the record, a little more
    int behind;        // the operation that completes it
    cudaEvent_t begun, done; // in steps that are marked; NULL in one that is no part of a step
} bucket;

// One look at what is waited for, without waiting.
typedef status group_look(const engine *e, const char *what, bool *done, error *err);

typedef struct group_transport {
    const char *name; // as the manifest has it
    bool built;       // is it in this build?
    // All ranks together, and with the same answer: can this group use it? Else `why` says why not,
    // of this rank or of another. What was prepared then is left to `leave`.
    status (*join)(engine *e, const group_card *cards, bool *joined, error *why, error *err);
    // Can a reduction be captured in a graph? Then it may be part of a step.
    bool graphable;
    // Before the reduction of a step: memory, and what else must not be asked for in a capture.
    status (*prepare)(engine *e, error *err);
    // Puts the reduction of a bucket of the terms into a stream; the sum becomes that of the first
    // record.
    status (*reduce)(engine *e, const bucket *b, launch_stream s, error *err);
    group_look *look; // is all done that was put there?
    // Has it said of what is under way that it will never be done? NULL: streams say so.
    group_look *listen;
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
    int *node;       // [V]: of each term
    int *first_term; // [size + 1]: where each rank's begin
    // Of reduce.cu, on the host and on the device: [V] for the vectors of a step; behind them
    // [size] for one vector a rank, in the order of ranks.
    int *merges_host, *merges;
    bool order_changed; // since the host's merges were sent
    // Of this reduction, or the last:
    bool exact;
    bool under_way; // nobody has waited for it
    float *wishes;  // [STEPS_AHEAD][RECORD_EXTRA], pinned
    int wish_count;
    // Of reductions that are part of a step, from the end of the record to its beginning.
    bucket *buckets;
    int bucket_count;    // 0: there are none
    bool waits;          // for update(), which does it
    cudaStream_t stream; // beside backward
    // What the graphs were captured with: calls of a transport are for so many terms.
    bool captured, captured_exact;
    int *captured_first_term, captured_wish_count;
} cuda_group;

// All of the record.
bucket cuda_group_whole(const engine *e);
// A bucket's slices.
void cuda_group_cut(const engine *e, bucket *b);
// Floats of slice q.
size_t cuda_group_slice(const bucket *b, int q);
// What the lengths of equal slices are multiples of, times their number.
size_t cuda_group_slice_unit(int size);
// How far slices reach beyond the end of a record, at most; `size` is at most `shards`.
size_t cuda_group_margin(int shards);
// The first record becomes the sum of all of this engine, in their order: with one vector a rank a
// fast reduction begins.
status cuda_group_add_own(engine *e, const bucket *b, launch_stream s, error *err) MUST_CHECK;
// The wishes go into the tail of the first record, or come from there. Of this reduction.
status cuda_group_put_wishes(const engine *e, cudaStream_t s, error *err) MUST_CHECK;
status cuda_group_take_wishes(const engine *e, cudaStream_t s, error *err) MUST_CHECK;

// Until `look` says that it is done, or fails, or `alive` does.
status cuda_group_wait(engine *e, group_look *look, const char *what, error *err) MUST_CHECK;
group_look cuda_group_look_at_stream;
void cuda_group_nap(long ns);
// Whether the transport's own threads have put all into streams that they were asked to, or have
// failed. If not, after REST_NS, the engine is stuck: see graphs.c.
bool cuda_group_is_at_rest(engine *e);

// Until the reductions that are under way are done, here and as far as others need it. Nothing may
// wait for the engine's stream by other means before. Engines without a group may call it, too.
status cuda_group_finish(engine *e, error *err) MUST_CHECK;
// Until the device is done with the blocks of this turn.
status cuda_group_wait_for_turn(engine *e, error *err) MUST_CHECK;
void cuda_group_give_up(engine *e); // something has failed

// buckets.c
// When the group has been joined, and where its transport is graphable.
status cuda_form_buckets(engine *e, error *err) MUST_CHECK;
bool cuda_has_buckets(const engine *e);
bool cuda_reduction_waits(const engine *e);
// A step that waits for a reduction that waits for its update: all three.
status cuda_run_reduced_step(engine *e, error *err) MUST_CHECK;
// While a step is enqueued: the bucket that this operation completes, if there is one. `forked`:
// some of it comes from the side stream.
status cuda_reduce_bucket_behind(engine *e, int behind, bool forked, error *err) MUST_CHECK;
// The engine's stream goes on behind the buckets.
status cuda_wait_for_buckets(engine *e, error *err) MUST_CHECK;
// How long the buckets of the step that was marked last took, with waiting for other ranks; ns.
uint64_t cuda_time_of_buckets(const engine *e);
void cuda_forget_buckets(engine *e);
// Is this reduction that of the graphs? If there are none yet, that of a full step is going to be.
bool cuda_group_fits_graph(engine *e);

// For the table:
status cuda_group_join(engine *e, const engine_group *member, group_way *way, error *why,
                       error *err) MUST_CHECK;
status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, const float *wishes, int n,
                         group_traffic *traffic, error *err) MUST_CHECK;
status cuda_group_result(engine *e, float *wishes, int n, error *err) MUST_CHECK;
// Leaves the group, if there is one.
void cuda_group_close(engine *e);

#endif
