// SPDX-License-Identifier: MIT
// A group's reduction as part of a step. The record is cut into buckets; each is reduced as soon as
// backward has made it, on a separate stream, while backward works on the earlier layers. Step,
// reduction and update are then one graph.
//
//     stream        backward of layer 3    layer 2        layer 1        update
//     group->stream                        bucket 0       bucket 1 ...   ^
//
// Backward goes from the last layer to the first, and the parameter arena has layers in order
// (program.h): so gradients are complete from the end of the record on. The rest of the record
// (sums for running statistics, the loss and the requests) follows the parameters and comes from
// forward; it goes with the first bucket.
//
// The bits are those of a reduction after the step: the order of additions does not depend on where
// a record is cut.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/group/group.h"

// ---- Planning ----

// Returns the offset of a unit's first parameter in the arena; `none` if it has no parameters.
static size_t first_parameter(const unit_layers *u, size_t none) {
    const layer *first = u->core ? u->core : u->norm ? u->norm : u->alone;
    return first && layer_weights(first) > 0 ? first->weight : none;
}

// Returns the index of the last operation that makes gradients of this unit's parameters.
static int completing_operation(const engine *e, const cuda_unit *u) {
    int last = 0;
    for (int i = e->backward_first; i < e->operation_count; i++) {
        const operation *op = &e->operations[i];
        if (op->unit == u && op->kind != OP_CORE_INPUT && op->kind != OP_ADD_GRADIENT) last = i;
    }
    return last;
}

static status add_bucket(engine *e, size_t first, size_t end, int behind, error *err) {
    cuda_group *g = e->group;
    bucket *b = &g->buckets[g->bucket_count++];
    status rc;
    *b = (bucket){.first = first, .end = end, .behind = behind};
    cuda_group_cut(e, b);
    TRY(cuda_check(e, cudaEventCreate(&b->begun), "creating an event", err));
    TRY(cuda_check(e, cudaEventCreate(&b->done), "creating an event", err));
out:
    return rc;
}

// A new bucket begins at a unit's first parameter, if the bucket after it and the rest before it
// are large enough. Only the last bucket need not consist of whole slices.
static status cut_record(engine *e, error *err) {
    const engine_group *member = &e->group->member;
    const size_t unit = cuda_group_slice_unit(member->size);
    size_t end = e->record, complete = e->record;
    status rc = STATUS_OK;
    for (int i = e->units.count - 1; i > 0; i--) {
        complete = first_parameter(&e->units.units[i], complete);
        const size_t first = (complete + unit - 1) / unit * unit;
        if (first >= end || end - first < member->bucket || first < member->bucket) continue;
        TRY(add_bucket(e, first, end, completing_operation(e, &e->placed[i]), err));
        end = first;
    }
    rc = add_bucket(e, 0, end, e->operation_count - 1, err);
out:
    return rc;
}

// A reduction has few blocks, and the blocks of all ranks wait for each other. If they queued after
// backward's blocks on one rank, they would be late on all ranks: so they go first. Captured blocks
// have the stream's priority, too, if the graph is instantiated so (graphs.c).
static status make_stream(engine *e, error *err) {
    static const char what[] = "creating a stream";
    int greatest;
    status rc;
    TRY(cuda_check(e, cudaDeviceGetStreamPriorityRange(NULL, &greatest), what, err));
    rc = cuda_check(
        e, cudaStreamCreateWithPriority(&e->group->stream, cudaStreamNonBlocking, greatest), what,
        err);
out:
    return rc;
}

status cuda_form_buckets(engine *e, error *err) {
    cuda_group *g = e->group;
    status rc;
    g->buckets = memory_new((size_t)e->units.count, sizeof *g->buckets, err);
    g->captured_first_term =
        memory_new((size_t)g->member.size + 1, sizeof *g->captured_first_term, err);
    if (!g->buckets || !g->captured_first_term) return STATUS_FAILED;
    TRY(make_stream(e, err));
    rc = cut_record(e, err);
out:
    return rc;
}

static void free_stream_and_events(const cuda_group *g) {
    for (int i = 0; i < g->bucket_count; i++) {
        if (g->buckets[i].begun) (void)cudaEventDestroy(g->buckets[i].begun);
        if (g->buckets[i].done) (void)cudaEventDestroy(g->buckets[i].done);
    }
    if (g->stream) (void)cudaStreamDestroy(g->stream);
}

void cuda_forget_buckets(engine *e) {
    cuda_group *g = e->group;
    if (!e->stuck) free_stream_and_events(g);
    free(g->buckets);
    free(g->captured_first_term);
}

bool cuda_has_buckets(const engine *e) {
    return e->group && e->group->bucket_count > 0;
}

bool cuda_reduction_waits(const engine *e) {
    return e->group && e->group->waits;
}

// ---- In a step ----

static status reduce_bucket(engine *e, const bucket *b, error *err) {
    const cuda_group *g = e->group;
    const launch_stream s = {g->stream, e->programmatic};
    const bool has_tail = b->end == e->record;
    status rc;
    cuda_mark_event(e, b->begun, s.stream);
    TRY(cuda_sum_records(e, b->first, b->end, s, err));
    if (has_tail) TRY(cuda_group_put_requests(e, g->stream, err));
    TRY(g->transport->reduce(e, b, s, err));
    if (has_tail) TRY(cuda_group_take_requests(e, g->stream, err));
    cuda_mark_event(e, b->done, s.stream);
out:
    return rc;
}

status cuda_reduce_bucket_behind(engine *e, int behind, bool forked, error *err) {
    const cuda_group *g = e->group;
    status rc = STATUS_OK;
    for (int i = 0; i < g->bucket_count; i++) {
        const bucket *b = &g->buckets[i];
        if (b->behind != behind) continue;
        TRY(cuda_wait_for(e, g->stream, e->stream, err));
        if (forked) TRY(cuda_wait_for(e, g->stream, e->side, err));
        TRY(reduce_bucket(e, b, err));
    }
out:
    return rc;
}

status cuda_wait_for_buckets(engine *e, error *err) {
    status rc = cuda_wait_for(e, e->stream, e->group->stream, err);
    if (rc == STATUS_OK) cuda_mark(e, MARK_REDUCED);
    return rc;
}

uint64_t cuda_time_of_buckets(const engine *e) {
    const cuda_group *g = e->group;
    uint64_t ns = 0;
    for (int i = 0; i < g->bucket_count; i++)
        ns += cuda_time_between(g->buckets[i].begun, g->buckets[i].done);
    return ns;
}

// ---- All of a step ----

// Captured NCCL calls have a fixed number of terms and floats. The graphs are those of full steps,
// in which all shards have samples, because most steps are full. A step with empty shards, at the
// end of an epoch, runs without a graph; so do all steps of a data set with fewer samples than
// shards.
bool cuda_group_fits_graph(engine *e) {
    cuda_group *g = e->group;
    const size_t bytes = ((size_t)g->member.size + 1) * sizeof *g->first_term;
    if (e->shard_leaves[e->options.shards] < e->options.shards) return false;
    if (!g->captured) {
        g->captured = true;
        g->captured_exact = g->exact;
        g->captured_request_count = g->request_count;
        memcpy(g->captured_first_term, g->first_term, bytes);
        return true;
    }
    return g->captured_exact == g->exact && g->captured_request_count == g->request_count &&
           memcmp(g->captured_first_term, g->first_term, bytes) == 0;
}

status cuda_run_reduced_step(engine *e, error *err) {
    cuda_group *g = e->group;
    status rc;
    g->waits = false;
    TRY(cuda_run_piece(e, PIECE_REDUCED_STEP_AND_UPDATE, err));
    g->under_way = true; // with batch norms that meet, only a part has been waited for
out:
    if (rc != STATUS_OK) cuda_group_abort(e);
    return rc;
}
