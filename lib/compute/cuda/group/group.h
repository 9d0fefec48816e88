// SPDX-License-Identifier: MIT
// group.h - engines of several ranks that reduce among themselves (backend.h, "Engines that reduce
// among themselves"). group.c holds the common part and tries the *transports* in turn: nccl.c (one
// device per rank), then ipc.c (ranks of one host that read each other's device memory).
// nccl_absent.c replaces nccl.c in a build without NCCL. buckets.c: reductions as part of a step.
//
// The vectors of all ranks, in rank order, are the *terms* of a reduction: each belongs to a node
// of a cover of the reduction tree, which every rank computes alike. A *bucket*, the part of the
// record that is reduced at once (or all of it), is cut into slices, one per rank. With every
// transport, rank r adds slice r of the terms, and the slices form the reduced bucket.
#ifndef LOCKSTEP_COMPUTE_CUDA_GROUP_GROUP_H
#define LOCKSTEP_COMPUTE_CUDA_GROUP_GROUP_H

#include "compute/cuda/engine.h"

enum { GROUP_DEVICE_BYTES = 16 };

// What ranks exchange first. The same in a build without NCCL.
typedef struct group_card {
    unsigned char device[GROUP_DEVICE_BYTES]; // its UUID
    bool has_device;                          // the UUID is known
    bool nccl;                                // this build has NCCL
    size_t record, shards;                    // floats, V: the same on all ranks
} group_card;

// A part of the record, or all of it. The slices of a bucket that does not end with the record have
// equal length.
typedef struct bucket {
    size_t first, end; // floats
    size_t slice;      // `size` slices cover the bucket and, at the end of the record, a bit more
    int behind;        // index of the operation that completes it
    cudaEvent_t begun, done; // in steps that are marked; NULL if it is no part of a step
} bucket;

// Tests once whether the work is done, without waiting.
typedef status group_look(const engine *e, const char *what, bool *done, error *err);

typedef struct group_transport {
    const char *name;        // as in the manifest
    bool (*available)(void); // is it in this build, with all that it needs? Only of cuda_nccl
    // Collective, with the same answer on every rank: can this group use the transport? If not,
    // `why` gives a reason, from this rank or another. `leave` frees anything prepared here.
    status (*join)(engine *e, const group_card *cards, bool *joined, error *why, error *err);
    // Can a reduction be captured in a graph? Then it can be part of a step.
    bool graphable;
    // Before a step's reduction: allocates memory, and does all else that a capture forbids.
    status (*prepare)(engine *e, error *err);
    // Enqueues the reduction of a bucket of the terms in a stream; the sum replaces that of the
    // first record.
    status (*reduce)(engine *e, const bucket *b, launch_stream s, error *err);
    group_look *look; // is all work enqueued there done?
    // Looks at the transport's own threads: fails if pending work will never finish; done: they are
    // idle. NULL: there are none, and streams report failures.
    group_look *listen;
    // Collective, after the reduction is done here; NULL: nothing is left to do.
    status (*settle)(engine *e, error *err);
    // Something has failed; no rank may go on waiting for the others. May be called again.
    void (*abort_group)(engine *e);
    void (*leave)(engine *e); // frees e->group->own, which may be NULL
} group_transport;

extern const group_transport cuda_nccl, cuda_ipc;

typedef struct cuda_group {
    const group_transport *transport;
    void *own; // the transport's private data
    engine_group member;
    bool failed;     // nothing is reduced any more
    int *node;       // [V]: node of each term
    int *first_term; // [size + 1]: first term of each rank
    // For reduce.cu, on the host and on the device: [V] for the vectors of a step, then [size] for
    // one vector per rank, in rank order.
    int *merges_host, *merges;
    bool order_changed; // since the host's merges were last sent
    // Of the current reduction, or the last one:
    bool exact;
    bool under_way;  // not yet waited for
    float *requests; // [STEPS_AHEAD][RECORD_EXTRA], pinned
    int request_count;
    // For reductions that are part of a step, from the end of the record to its beginning.
    bucket *buckets;
    int bucket_count;    // 0: there are none
    bool waits;          // for update(), which runs it
    cudaStream_t stream; // concurrent with backward
    // The graphs were captured with these: a transport's calls fix the number of terms.
    bool captured, captured_exact;
    int *captured_first_term, captured_request_count;
} cuda_group;

// Returns the whole record as a bucket.
bucket cuda_group_whole(const engine *e);
// Sets a bucket's slices.
void cuda_group_cut(const engine *e, bucket *b);
// Returns the floats of slice q.
size_t cuda_group_slice(const bucket *b, int q);
// Returns the granularity of equal slices: their length times their number is a multiple of it.
size_t cuda_group_slice_unit(int size);
// Returns how far slices reach beyond the end of a record, at most; `size` is at most `shards`.
size_t cuda_group_margin(int shards);
// Replaces the first record by the sum of all of this engine's records, in order: a fast reduction
// begins with one vector per rank.
status cuda_group_add_own(engine *e, const bucket *b, launch_stream s, error *err) MUST_CHECK;
// Copy this reduction's requests into the tail of the first record, or back from it.
status cuda_group_put_requests(const engine *e, cudaStream_t s, error *err) MUST_CHECK;
status cuda_group_take_requests(const engine *e, cudaStream_t s, error *err) MUST_CHECK;

// Waits until `look` reports that the work is done or fails, or until `alive` fails.
status cuda_group_wait(engine *e, group_look *look, const char *what, error *err) MUST_CHECK;
group_look cuda_group_look_at_stream;
void cuda_group_nap(long ns);
// Returns whether the transport's own threads have enqueued all they were given, or have failed. If
// they have not after REST_NS, the engine is stuck: see graphs.c.
bool cuda_group_is_idle(engine *e);

// Waits until the reductions under way are done, here and as far as other ranks depend on it.
// Nothing may wait for the engine's stream by other means before that. Also for engines without a
// group.
status cuda_group_finish(engine *e, error *err) MUST_CHECK;
// Waits until the device no longer uses the blocks of this turn.
status cuda_group_wait_for_turn(engine *e, error *err) MUST_CHECK;
void cuda_group_abort(engine *e); // something has failed

// buckets.c
// Called when the group has been joined, if its transport is graphable.
status cuda_form_buckets(engine *e, error *err) MUST_CHECK;
bool cuda_has_buckets(const engine *e);
bool cuda_reduction_waits(const engine *e);
// Runs a step that waits for a reduction that waits for its update: all three.
status cuda_run_reduced_step(engine *e, error *err) MUST_CHECK;
// While a step is enqueued: enqueues the bucket that operation `behind` completes, if there is one.
// `forked`: some of it comes from the side stream.
status cuda_reduce_bucket_behind(engine *e, int behind, bool forked, error *err) MUST_CHECK;
// The engine's stream continues after the buckets.
status cuda_wait_for_buckets(engine *e, error *err) MUST_CHECK;
// Returns how long the buckets of the last marked step took, including waiting for other ranks; ns.
uint64_t cuda_time_of_buckets(const engine *e);
void cuda_forget_buckets(engine *e);
// Does this reduction match the graphs'? If there are none yet, the first full step's reduction
// becomes theirs.
bool cuda_group_fits_graph(engine *e);

// For the table:
status cuda_group_join(engine *e, const engine_group *member, group_way *way, error *why,
                       error *err) MUST_CHECK;
status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, const float *requests, int n,
                         group_traffic *traffic, error *err) MUST_CHECK;
status cuda_group_result(engine *e, float *requests, int n, error *err) MUST_CHECK;
// Leaves the group, if there is one.
void cuda_group_close(engine *e);

#endif
