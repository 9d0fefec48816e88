// SPDX-License-Identifier: MIT
// A step's input to the device: one block of memory, filled on the host and copied.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/run/cuda_engine.h"

static status fit_counts(engine *e, const batch *b, error *err) {
    const int local = b->end_shard - b->first_shard;
    bool resized;
    if (b->shards != e->shards.count || local > e->plan.options.local_shards)
        return error_set(err, STATUS_FAILED, "batch of %d shards, %d here, does not fit the engine",
                         b->shards, local);
    for (int v = 0; v < b->shards; v++)
        if (b->count[v] > e->plan.lanes)
            return error_set(err, STATUS_FAILED, "shard of %d samples does not fit the engine",
                             b->count[v]);
    const status rc = cuda_shards_fit(&e->shards, b, &resized, err);
    e->graphs.old |= resized;
    return rc;
}

static void fit_frozen(engine *e, uint32_t frozen) {
    if (frozen == e->plan.frozen) return;
    cuda_plan_freeze(&e->plan, frozen);
    e->graphs.old = true;
}

static void describe_shards(step_shards *s, const step_input *h) {
    const int first = s->leaves[s->first], end = s->leaves[s->end];
    s->groups = 0;
    memcpy(h->all_count, s->samples, (size_t)s->count * sizeof *s->samples);
    for (int v = s->first; v < s->end; v++) {
        const int i = v - s->first, count = s->samples[v];
        h->count[i] = count;
        h->first_group[i] = s->groups;
        h->merges[i] = count > 0 ? reduction_tree_merges(&s->tree, first, end, s->leaves[v])
                                 : (int)REDUCE_SKIP;
        s->groups += (count + GROUP - 1) / GROUP;
    }
}

// Names the row of a sample's image: in the data set, or among the images sent with the step.
static void place_image(const engine *e, const batch *b, size_t from, size_t to) {
    const step_input *h = &e->input.host;
    const uint8_t *const *images = e->plan.options.images;
    const size_t bytes = shape_size(e->plan.program->input);
    if (e->input.data_set) {
        h->rows[to] = b->rows[from];
        return;
    }
    h->rows[to] = (uint32_t)to;
    memcpy(h->images + to * bytes, images ? images[b->rows[from]] : b->pixels[from], bytes);
}

static void write_samples(const engine *e, const batch *b) {
    const step_input *h = &e->input.host;
    const size_t lanes = (size_t)e->plan.lanes;
    size_t from = 0;
    int samples = 0;
    for (int v = 0; v < b->shards; v++) samples += b->count[v];
    *h->numbers = (step_numbers){.epoch = b->epoch, .samples = samples};
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
    const cuda_device *d = &e->device;
    input_arrays *in = &e->input;
    NEED(cuda_check(d, cudaEventRecord(in->ahead[cuda_turn(in)].done, d->stream),
                    "recording the end of a step", err));
    in->steps++;
    const input_turn *t = &in->ahead[cuda_turn(in)];
    in->host = t->host;
    in->device = t->device;
    e->clock.marking = !e->plan.options.deferred || in->steps % MARKED_EVERY == 1;
    if (e->place.under_way) NEED(e->place.hooks->wait_for_turn(e->place.comm, err));
    return cuda_check(d, cudaEventSynchronize(t->done), "waiting for the device", err);
}

// The images, which not every step sends, are at the end of the block.
size_t cuda_input_bytes(const input_arrays *in, bool images) {
    if (images) return in->bytes;
    return (size_t)((const char *)in->host.images - (const char *)in->host.numbers);
}

// On a separate stream: the copy need not wait for earlier steps; only the step waits for the copy.
status cuda_send(engine *e, bool images, error *err) {
    static const char what[] = "sending a step";
    const cuda_device *d = &e->device;
    const input_arrays *in = &e->input;
    NEED(
        cuda_check(d,
                   cudaMemcpyAsync(in->device.numbers, in->host.numbers,
                                   cuda_input_bytes(in, images), cudaMemcpyHostToDevice, d->copies),
                   what, err));
    NEED(cuda_check(d, cudaEventRecord(in->arrived, d->copies), what, err));
    cuda_mark(&e->clock, MARK_COPY, cuda_main(d));
    launch_after_other(cuda_main(d));
    return cuda_check(d, cudaStreamWaitEvent(d->stream, in->arrived, 0), what, err);
}

status cuda_tell(engine *e, const batch *b, error *err) {
    NEED(cuda_begin(&e->device, err));
    const uint64_t asked = clock_now();
    NEED(take_turn(e, err));
    const uint64_t begin = clock_now();
    e->clock.inside += begin - asked; // the device was working during that time
    NEED(fit_counts(e, b, err));
    fit_frozen(e, b->frozen);
    describe_shards(&e->shards, &e->input.host);
    write_samples(e, b);
    const uint64_t end = clock_now();
    e->clock.times.ns[PHASE_LOAD] += end - begin;
    trace_phase(e->plan.options.track, phase_name(PHASE_LOAD), begin, end);
    e->gradients.here = e->gradients.reduced = e->gradients.reduced_here = false;
    return STATUS_OK;
}

status cuda_prepare(engine *e, const batch *b, error *err) {
    const status rc = cuda_tell(e, b, err);
    return rc == STATUS_OK ? cuda_send(e, !e->input.data_set, err) : rc;
}
