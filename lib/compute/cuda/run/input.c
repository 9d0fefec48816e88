// SPDX-License-Identifier: MIT
// A step's input to the device: one block of memory, filled on the host and copied.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/group/group.h"

static bool same_counts(const engine *e, const batch *b) {
    return e->tree.nodes && b->first_shard == e->counts_first && b->end_shard == e->counts_end &&
           memcmp(e->counts, b->count, (size_t)b->shards * sizeof *b->count) == 0;
}

// One leaf per shard; a shard without a sample has none.
static status make_tree(engine *e, const batch *b, error *err) {
    int leaves = 0;
    for (int v = 0; v < b->shards; v++) {
        e->shard_leaves[v] = leaves;
        e->shard_groups[v] = b->count[v] > 0;
        leaves += e->shard_groups[v];
    }
    e->shard_leaves[b->shards] = leaves;
    reduction_tree_release(&e->tree);
    return reduction_tree_init(&e->tree, e->shard_groups, b->shards, err);
}

static void describe_shards(engine *e, const batch *b) {
    const step_input *h = &e->host;
    const int first = e->shard_leaves[b->first_shard], end = e->shard_leaves[b->end_shard];
    int groups = 0;
    memcpy(h->all_count, b->count, (size_t)b->shards * sizeof *b->count);
    for (int s = 0; s < b->end_shard - b->first_shard; s++) {
        const int v = b->first_shard + s, count = b->count[v];
        h->count[s] = count;
        h->first_group[s] = groups;
        h->merges[s] = count > 0 ? reduction_tree_merges(&e->tree, first, end, e->shard_leaves[v])
                                 : (int)REDUCE_SKIP;
        groups += (count + GROUP - 1) / GROUP;
    }
    e->group_count = groups;
    e->record_count = reduction_tree_cover(&e->tree, first, end, e->cover);
}

static status fit_counts(engine *e, const batch *b, error *err) {
    const int local = b->end_shard - b->first_shard;
    if (same_counts(e, b)) return STATUS_OK;
    if (b->shards != e->options.shards || local > e->options.local_shards)
        return error_set(err, STATUS_FAILED, "batch of %d shards, %d here, does not fit the engine",
                         b->shards, local);
    for (int v = 0; v < b->shards; v++)
        if (b->count[v] > e->lanes)
            return error_set(err, STATUS_FAILED, "shard of %d samples does not fit the engine",
                             b->count[v]);
    status rc = make_tree(e, b, err);
    if (rc != STATUS_OK) return rc;
    memcpy(e->counts, b->count, (size_t)b->shards * sizeof *b->count);
    e->graphs_are_old |= local != e->counts_end - e->counts_first;
    e->counts_first = b->first_shard;
    e->counts_end = b->end_shard;
    return STATUS_OK;
}

// Names the row of a sample's image: in the data set, or among the images sent with the step.
static void place_image(engine *e, const batch *b, size_t from, size_t to) {
    const step_input *h = &e->host;
    const uint8_t *const *images = e->options.images;
    const size_t bytes = shape_size(e->program->input);
    if (e->images) {
        h->rows[to] = b->rows[from];
        return;
    }
    h->rows[to] = (uint32_t)to;
    memcpy(h->images + to * bytes, images ? images[b->rows[from]] : b->pixels[from], bytes);
}

static void write_samples(engine *e, const batch *b) {
    const step_input *h = &e->host;
    const size_t lanes = (size_t)e->lanes;
    size_t from = 0;
    int samples = 0;
    for (int v = 0; v < b->shards; v++) samples += b->count[v];
    *h->numbers =
        (step_numbers){.epoch = b->epoch, .samples = samples, .scale = (float)(1.0 / samples)};
    for (size_t s = 0; s < (size_t)(b->end_shard - b->first_shard); s++)
        for (size_t n = 0; n < (size_t)h->count[s]; n++, from++) {
            const size_t to = s * lanes + n;
            h->targets[to] = b->targets[from];
            if (b->ids) h->ids[to] = b->ids[from];
            if (h->images) place_image(e, b, from, to);
        }
}

// All work that reads the previous step's blocks has been enqueued. This step takes the next
// blocks, once the device no longer uses their old contents.
static status take_turn(engine *e, error *err) {
    status rc;
    TRY(cuda_check(e, cudaEventRecord(e->ahead[cuda_turn(e)].done, e->stream),
                   "recording the end of a step", err));
    e->steps++;
    const input_turn *t = &e->ahead[cuda_turn(e)];
    e->host = t->host;
    e->device = t->device;
    e->marking = !e->options.deferred || e->steps % MARKED_EVERY == 1;
    if (e->group && e->group->under_way) TRY(cuda_group_wait_for_turn(e, err));
    rc = cuda_check(e, cudaEventSynchronize(t->done), "waiting for the device", err);
out:
    return rc;
}

// The images, which not every step sends, are at the end of the block.
size_t cuda_input_bytes(const engine *e, bool images) {
    if (images) return e->input_bytes;
    return (size_t)((const char *)e->host.images - (const char *)e->host.numbers);
}

// On a separate stream: the copy need not wait for earlier steps; only the step waits for the copy.
status cuda_send(engine *e, bool images, error *err) {
    static const char what[] = "sending a step";
    status rc;
    TRY(cuda_check(e,
                   cudaMemcpyAsync(e->device.numbers, e->host.numbers, cuda_input_bytes(e, images),
                                   cudaMemcpyHostToDevice, e->copies),
                   what, err));
    TRY(cuda_check(e, cudaEventRecord(e->arrived, e->copies), what, err));
    cuda_mark(e, MARK_COPY);
    TRY(cuda_check(e, cudaStreamWaitEvent(e->stream, e->arrived, 0), what, err));
out:
    return rc;
}

status cuda_tell(engine *e, const batch *b, error *err) {
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    const uint64_t asked = clock_now();
    TRY(take_turn(e, err));
    const uint64_t begin = clock_now();
    e->inside += begin - asked; // the device was working during that time
    TRY(fit_counts(e, b, err));
    describe_shards(e, b);
    write_samples(e, b);
    const uint64_t end = clock_now();
    e->ns[PHASE_LOAD] += end - begin;
    trace_phase(e->options.track, phase_name(PHASE_LOAD), begin, end);
    e->run_first = 0;
    e->run_end = b->end_shard - b->first_shard;
    e->records_here = e->reduced_here = false;
out:
    return rc;
}

status cuda_prepare(engine *e, const batch *b, error *err) {
    const status rc = cuda_tell(e, b, err);
    return rc == STATUS_OK ? cuda_send(e, !e->images, err) : rc;
}
