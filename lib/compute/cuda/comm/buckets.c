// SPDX-License-Identifier: MIT
// A reduction as part of a step. The gradient buffer is cut into buckets; each is reduced as soon
// as backward has made it, on a separate stream, while backward works on the earlier layers. Step,
// reduction and update are then one graph.
//
//     stream        backward of layer 3    layer 2        layer 1        update
//     comm->stream                        bucket 0       bucket 1 ...   ^
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
#include "compute/cuda/comm/cuda_comm.h"

// ---- Planning ----

// Returns the offset of a unit's first parameter in the arena; `none` if it has no parameters.
static size_t first_parameter(const unit_layers *u, size_t none) {
    const layer *first = u->anchor ? u->anchor : u->norm ? u->norm : u->unfused;
    return first && layer_weights(first) > 0 ? first->weight : none;
}

// Returns the index of the last operation that writes gradients of the parameters [first, end).
static int completing_operation(const cuda_plan *p, size_t first, size_t end) {
    const step_plan *steps = &p->training;
    int last = steps->backward;
    for (int i = last; i < steps->operation_count; i++)
        for (int k = steps->operations[i].first_range; k < steps->operations[i].end_range; k++) {
            const gradient_range *r = &steps->ranges[k];
            if (r->first < end && r->first + r->count > first && r->first < p->program->parameters)
                last = i;
        }
    return last;
}

// Buckets stay in order, even if nothing writes the gradients of one because they are frozen.
static void find_completing_operations(cuda_comm *c) {
    int behind = 0;
    for (int i = 0; i < c->bucket_count; i++) {
        const slices *s = &c->buckets[i].slices;
        const int last = completing_operation(c->plan, s->first, s->end);
        if (last > behind) behind = last;
        c->buckets[i].behind = behind;
    }
    c->frozen = c->plan->frozen;
}

static status add_bucket(cuda_comm *c, size_t first, size_t end, error *err) {
    bucket *b = &c->buckets[c->bucket_count++];
    *b = (bucket){.slices = cuda_slices(first, end, c->ranks.size)};
    NEED(cuda_check(c->device, cudaEventCreate(&b->begun), "creating an event", err));
    return cuda_check(c->device, cudaEventCreate(&b->done), "creating an event", err);
}

// A new bucket begins at a unit's first parameter, if the bucket after it and the rest before it
// are large enough. Only the last bucket need not consist of whole slices.
static status cut_gradients(cuda_comm *c, error *err) {
    const cuda_plan *p = c->plan;
    const size_t least = c->ranks.bucket, unit = cuda_slice_unit(c->ranks.size);
    size_t end = c->gradients->floats, complete = end;
    for (int i = p->units.count - 1; i > 0; i--) {
        complete = first_parameter(&p->units.units[i], complete);
        const size_t first = (complete + unit - 1) / unit * unit;
        if (first >= end || end - first < least || first < least) continue;
        NEED(add_bucket(c, first, end, err));
        end = first;
    }
    NEED(add_bucket(c, 0, end, err));
    find_completing_operations(c);
    return STATUS_OK;
}

// A reduction has few blocks, and the blocks of all ranks wait for each other. If they queued after
// backward's blocks on one rank, they would be late on all ranks: so they go first. Captured blocks
// have the stream's priority, too, if the graph is instantiated so (graphs.c).
static status make_stream(cuda_comm *c, error *err) {
    static const char what[] = "creating a stream";
    int greatest;
    NEED(cuda_check(c->device, cudaDeviceGetStreamPriorityRange(NULL, &greatest), what, err));
    return cuda_check(c->device,
                      cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, greatest),
                      what, err);
}

status cuda_form_buckets(cuda_comm *c, error *err) {
    c->buckets = memory_new((size_t)c->plan->units.count, sizeof *c->buckets);
    c->captured_first_term = memory_new((size_t)c->ranks.size + 1, sizeof *c->captured_first_term);
    NEED(make_stream(c, err));
    return cut_gradients(c, err);
}

static void free_stream_and_events(const cuda_comm *c) {
    for (int i = 0; i < c->bucket_count; i++) {
        if (c->buckets[i].begun) (void)cudaEventDestroy(c->buckets[i].begun);
        if (c->buckets[i].done) (void)cudaEventDestroy(c->buckets[i].done);
    }
    if (c->stream) (void)cudaStreamDestroy(c->stream);
}

void cuda_forget_buckets(cuda_comm *c) {
    if (!c->device->stuck) free_stream_and_events(c);
    free(c->buckets);
    free(c->captured_first_term);
}

// ---- In a step ----

// The stream of NCCL's kernels, which ours must not follow early.
static launch_stream serial(const cuda_comm *c) {
    return (launch_stream){c->stream, NULL};
}

static status reduce_bucket(cuda_comm *c, const bucket *b, error *err) {
    const launch_stream s = serial(c);
    const slices *part = &b->slices;
    const step_clock *clock = &c->engine->clock;
    const bool has_tail = part->end == c->gradients->floats;
    cuda_mark_event(clock, b->begun, s);
    NEED(cuda_sum_gradients(c->engine, part->first, part->end, s, err));
    if (has_tail) NEED(cuda_comm_put_requests(c, s, err));
    NEED(c->transport->reduce(c, part, s, err));
    if (has_tail) NEED(cuda_comm_take_requests(c, s, err));
    cuda_mark_event(clock, b->done, s);
    return STATUS_OK;
}

status cuda_reduce_bucket_behind(cuda_comm *c, int behind, bool forked, error *err) {
    const cuda_device *d = c->device;
    if (c->frozen != c->plan->frozen) find_completing_operations(c);
    for (int i = 0; i < c->bucket_count; i++) {
        if (c->buckets[i].behind != behind) continue;
        NEED(cuda_wait_for(d, serial(c), d->stream, err));
        if (forked) NEED(cuda_wait_for(d, serial(c), d->side, err));
        NEED(reduce_bucket(c, &c->buckets[i], err));
    }
    return STATUS_OK;
}

status cuda_wait_for_buckets(cuda_comm *c, error *err) {
    const launch_stream s = cuda_main(c->device);
    const status rc = cuda_wait_for(c->device, s, c->stream, err);
    if (rc == STATUS_OK) cuda_mark(&c->engine->clock, MARK_REDUCED, s);
    return rc;
}

uint64_t cuda_time_of_buckets(const cuda_comm *c) {
    uint64_t ns = 0;
    for (int i = 0; i < c->bucket_count; i++)
        ns += cuda_time_between(c->buckets[i].begun, c->buckets[i].done);
    return ns;
}

// Captured NCCL calls have a fixed number of terms and floats. The graphs are those of full steps,
// in which all shards have samples, because most steps are full. A step with empty shards, at the
// end of an epoch, runs without a graph; so do all steps of a data set with fewer samples than
// shards.
bool cuda_comm_fits_graph(cuda_comm *c) {
    const size_t bytes = ((size_t)c->ranks.size + 1) * sizeof *c->first_term;
    if (c->shards->leaves[c->shards->count] < c->shards->count) return false;
    if (!c->place->captured) {
        c->place->captured = true;
        c->captured_exact = c->exact;
        c->captured_request_count = c->request_count;
        memcpy(c->captured_first_term, c->first_term, bytes);
        return true;
    }
    return c->captured_exact == c->exact && c->captured_request_count == c->request_count &&
           memcmp(c->captured_first_term, c->first_term, bytes) == 0;
}
