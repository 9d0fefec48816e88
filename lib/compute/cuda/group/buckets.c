// SPDX-License-Identifier: MIT
// A group's reduction as part of a step. The gradient buffer is cut into buckets; each is reduced
// as soon as backward has made it, on a separate stream, while backward works on the earlier
// layers. Step, reduction and update are then one graph.
//
//     stream        backward of layer 3    layer 2        layer 1        update
//     group->stream                        bucket 0       bucket 1 ...   ^
//
// Backward goes from the last layer to the first, and the parameter arena has layers in order
// (program.h): so gradients are complete from the end of the gradient buffer on. The rest of the
// gradient buffer (sums for running statistics, the loss and the requests) follows the parameters
// and comes from forward; it goes with the first bucket.
//
// The bits are those of a reduction after the step: the order of additions does not depend on where
// a gradient buffer is cut.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/cuda/group/group.h"

// ---- Planning ----

// Returns the offset of a unit's first parameter in the arena; `none` if it has no parameters.
static size_t first_parameter(const unit_layers *u, size_t none) {
    const layer *first = u->anchor ? u->anchor : u->norm ? u->norm : u->unfused;
    return first && layer_weights(first) > 0 ? first->weight : none;
}

// Returns the index of the last operation that makes gradients of this unit's parameters.
static int completing_operation(const cuda_plan *p, const cuda_unit *u) {
    int last = 0;
    for (int i = p->backward_first; i < p->operation_count; i++) {
        const operation *op = &p->operations[i];
        if (op->unit == u && op->kind != OP_ANCHOR_INPUT && op->kind != OP_ADD_GRADIENT) last = i;
    }
    return last;
}

static status add_bucket(cuda_group *g, size_t first, size_t end, int behind, error *err) {
    bucket *b = &g->buckets[g->bucket_count++];
    status rc;
    *b = (bucket){.slices = cuda_slices(first, end, g->member.size), .behind = behind};
    TRY(cuda_check(g->device, cudaEventCreate(&b->begun), "creating an event", err));
    TRY(cuda_check(g->device, cudaEventCreate(&b->done), "creating an event", err));
out:
    return rc;
}

// A new bucket begins at a unit's first parameter, if the bucket after it and the rest before it
// are large enough. Only the last bucket need not consist of whole slices.
static status cut_gradients(cuda_group *g, error *err) {
    const cuda_plan *p = g->plan;
    const size_t least = g->member.bucket, unit = cuda_slice_unit(g->member.size);
    size_t end = g->gradients->floats, complete = end;
    status rc = STATUS_OK;
    for (int i = p->units.count - 1; i > 0; i--) {
        complete = first_parameter(&p->units.units[i], complete);
        const size_t first = (complete + unit - 1) / unit * unit;
        if (first >= end || end - first < least || first < least) continue;
        TRY(add_bucket(g, first, end, completing_operation(p, &p->placed[i]), err));
        end = first;
    }
    rc = add_bucket(g, 0, end, p->operation_count - 1, err);
out:
    return rc;
}

// A reduction has few blocks, and the blocks of all ranks wait for each other. If they queued after
// backward's blocks on one rank, they would be late on all ranks: so they go first. Captured blocks
// have the stream's priority, too, if the graph is instantiated so (graphs.c).
static status make_stream(cuda_group *g, error *err) {
    static const char what[] = "creating a stream";
    int greatest;
    status rc;
    TRY(cuda_check(g->device, cudaDeviceGetStreamPriorityRange(NULL, &greatest), what, err));
    rc = cuda_check(g->device,
                    cudaStreamCreateWithPriority(&g->stream, cudaStreamNonBlocking, greatest), what,
                    err);
out:
    return rc;
}

status cuda_form_buckets(cuda_group *g, error *err) {
    status rc;
    g->buckets = memory_new((size_t)g->plan->units.count, sizeof *g->buckets);
    g->captured_first_term = memory_new((size_t)g->member.size + 1, sizeof *g->captured_first_term);
    TRY(make_stream(g, err));
    rc = cut_gradients(g, err);
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

void cuda_forget_buckets(cuda_group *g) {
    if (!g->device->stuck) free_stream_and_events(g);
    free(g->buckets);
    free(g->captured_first_term);
}

// ---- In a step ----

// The stream of NCCL's kernels, which ours must not follow early.
static launch_stream serial(const cuda_group *g) {
    return (launch_stream){g->stream, NULL};
}

static status reduce_bucket(cuda_group *g, const bucket *b, error *err) {
    const launch_stream s = serial(g);
    const slices *part = &b->slices;
    const step_clock *clock = &g->engine->clock;
    const bool has_tail = part->end == g->gradients->floats;
    status rc;
    cuda_mark_event(clock, b->begun, s);
    TRY(cuda_sum_gradients(g->engine, part->first, part->end, s, err));
    if (has_tail) TRY(cuda_group_put_requests(g, s, err));
    TRY(g->transport->reduce(g, part, s, err));
    if (has_tail) TRY(cuda_group_take_requests(g, s, err));
    cuda_mark_event(clock, b->done, s);
out:
    return rc;
}

status cuda_reduce_bucket_behind(cuda_group *g, int behind, bool forked, error *err) {
    const cuda_device *d = g->device;
    status rc = STATUS_OK;
    for (int i = 0; i < g->bucket_count; i++) {
        if (g->buckets[i].behind != behind) continue;
        TRY(cuda_wait_for(d, serial(g), d->stream, err));
        if (forked) TRY(cuda_wait_for(d, serial(g), d->side, err));
        TRY(reduce_bucket(g, &g->buckets[i], err));
    }
out:
    return rc;
}

status cuda_wait_for_buckets(cuda_group *g, error *err) {
    const launch_stream s = cuda_main(g->device);
    const status rc = cuda_wait_for(g->device, s, g->stream, err);
    if (rc == STATUS_OK) cuda_mark(&g->engine->clock, MARK_REDUCED, s);
    return rc;
}

uint64_t cuda_time_of_buckets(const cuda_group *g) {
    uint64_t ns = 0;
    for (int i = 0; i < g->bucket_count; i++)
        ns += cuda_time_between(g->buckets[i].begun, g->buckets[i].done);
    return ns;
}

// Captured NCCL calls have a fixed number of terms and floats. The graphs are those of full steps,
// in which all shards have samples, because most steps are full. A step with empty shards, at the
// end of an epoch, runs without a graph; so do all steps of a data set with fewer samples than
// shards.
bool cuda_group_fits_graph(cuda_group *g) {
    const size_t bytes = ((size_t)g->member.size + 1) * sizeof *g->first_term;
    if (g->shards->leaves[g->shards->count] < g->shards->count) return false;
    if (!g->place->captured) {
        g->place->captured = true;
        g->captured_exact = g->exact;
        g->captured_request_count = g->request_count;
        memcpy(g->captured_first_term, g->first_term, bytes);
        return true;
    }
    return g->captured_exact == g->exact && g->captured_request_count == g->request_count &&
           memcmp(g->captured_first_term, g->first_term, bytes) == 0;
}
