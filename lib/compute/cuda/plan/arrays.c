// SPDX-License-Identifier: MIT
// Selection and sizes of an engine's arrays. placement.c takes those for activations.
#include "compute/cuda/plan/arrays.h"

#include <string.h>

// ---- Batch norm ----

static void make_room(parts_room *most, parts_room room) {
    if (room.parts > most->parts) most->parts = room.parts;
    if (room.counters > most->counters) most->counters = room.counters;
}

// Only one norm, whatever it normalises, makes its moments or its gradient at a time, so they share
// this memory.
static status take_parts(norm_arrays *n, const cuda_plan *p, cuda_device *d, error *err) {
    const int lanes = p->lanes, shards = p->options.local_shards;
    parts_room most = {0, 0};
    for (int i = 0; i < p->units.count; i++) {
        const cuda_unit *u = &p->placed[i];
        if (u->layers->norm && !u->layers->options.sums_with_reader) {
            const cuda_epilogue_task t = {.size = u->layers->z, .pool = u->layers->pool};
            make_room(&most, p->sums_by->epilogue_sums_room(&t, lanes, shards));
        }
        if (u->layers->norm && !u->layers->options.moments_with_anchor)
            make_room(&most, p->sums_by->moments_room(u->layers->z, lanes, shards));
        if (u->layers->unfused)
            make_room(&most, cuda_unfused_room(u->layers->unfused, lanes, shards));
        if (!u->ours) continue;
        const cuda_conv_task t = cuda_conv_task_of(u->layers->anchor);
        if (u->layers->options.moments_with_anchor)
            make_room(&most, cuda_conv_moments_room(&t, lanes, shards));
        if (u->sums_of) make_room(&most, cuda_conv_input_sums_room(&t, lanes, shards));
    }
    NEED(cuda_take(d, most.parts * sizeof *n->parts, &n->parts, err));
    return cuda_take(d, most.counters * sizeof *n->counters, &n->counters, err);
}

status cuda_take_norms(norm_arrays *n, const cuda_plan *p, cuda_device *d, error *err) {
    const engine_options *o = &p->options;
    const size_t channels = p->units.norm_channels;
    const size_t own = (size_t)o->local_shards * channels * sizeof(float);
    const size_t row = 2 * channels * sizeof(double); // for all norms: enough for each of them
    const bool exchanges = o->sync_batch_norm && o->exchange;
    float **rows[] = {&n->mean,  &n->mean_rest, &n->inv_std, &n->scale,
                      &n->shift, &n->from_dy,   &n->from_z,  &n->from_one};
    NEED(take_parts(n, p, d, err));
    if (channels == 0) return STATUS_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) NEED(cuda_take(d, own, rows[i], err));
    NEED(cuda_take(d, channels * sizeof(float), &n->run_scale, err));
    NEED(cuda_take(d, channels * sizeof(float), &n->run_shift, err));
    NEED(cuda_take(d, (size_t)o->local_shards * row, &n->own, err));
    n->all = n->own;
    if (!exchanges) return STATUS_OK;
    NEED(cuda_take(d, (size_t)o->shards * row, &n->all, err));
    NEED(cuda_take_host(d, (size_t)o->local_shards * row, &n->own_host, err));
    return cuda_take_host(d, (size_t)o->shards * row, &n->all_host, err);
}

// ---- Step inputs ----

// Lays out the arrays of a step input one after the other; returns their total bytes.
static size_t lay_out_input(const cuda_plan *p, char *base, step_input *in) {
    enum { ALIGNMENT = 16 };
    const size_t local = (size_t)p->options.local_shards, lanes = local * (size_t)p->lanes;
    const size_t image = p->options.receives ? 0 : shape_size(p->program->input);
    const struct {
        void *pointer;
        size_t bytes;
    } parts[] = {{&in->numbers, sizeof *in->numbers},
                 {&in->count, local * sizeof *in->count},
                 {&in->all_count, (size_t)p->options.shards * sizeof *in->all_count},
                 {&in->merges, local * sizeof *in->merges},
                 {&in->first_group, local * sizeof *in->first_group},
                 {&in->rows, lanes * sizeof *in->rows},
                 {&in->ids, lanes * sizeof *in->ids},
                 {&in->targets, lanes * sizeof *in->targets},
                 {&in->images, lanes * image}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *const here = base && parts[i].bytes ? base + at : NULL;
        memcpy(parts[i].pointer, &here, sizeof here);
        at += (parts[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return at;
}

status cuda_take_inputs(input_arrays *in, const cuda_plan *p, cuda_device *d, error *err) {
    char *host, *device;
    NEED(cuda_make_event(d, &in->arrived, err));
    in->bytes = lay_out_input(p, NULL, &in->host);
    for (int i = 0; i < STEPS_AHEAD; i++) {
        input_turn *t = &in->ahead[i];
        NEED(cuda_make_event(d, &t->done, err));
        NEED(cuda_take(d, in->bytes, &device, err));
        (void)lay_out_input(p, device, &t->device);
        NEED(cuda_take_host(d, in->bytes, &host, err));
        (void)lay_out_input(p, host, &t->host);
    }
    in->host = in->ahead[0].host;
    in->device = in->ahead[0].device;
    return cuda_take_host(d, STEPS_AHEAD * sizeof *in->rules, &in->rules, err);
}

void cuda_close_inputs(input_arrays *in) {
    for (int i = 0; i < STEPS_AHEAD; i++)
        if (in->ahead[i].done) (void)cudaEventDestroy(in->ahead[i].done);
    if (in->arrived) (void)cudaEventDestroy(in->arrived);
}

// Sends the host's images, which are often contiguous: then one copy moves many of them.
static status send_images(uint8_t *to, const engine_options *o, size_t bytes, const cuda_device *d,
                          error *err) {
    const uint8_t *const *images = o->images;
    const size_t count = o->image_count;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && images[end] == images[end - 1] + bytes;) end++;
        NEED(cuda_enqueue_copy(d, to + first * bytes, images[first], (end - first) * bytes,
                               cudaMemcpyHostToDevice, "sending the data set", err));
    }
    return cuda_device_sync(d, err);
}

// The data set stays on the device if it takes no more than half of the free memory: other engines,
// processes and libraries need room as well. Otherwise every step sends its images, and the device
// augments those. Each engine has its own copy, even if several share a device.
status cuda_take_data_set(input_arrays *in, const cuda_plan *p, cuda_device *d, error *err) {
    const engine_options *o = &p->options;
    const size_t bytes = shape_size(p->program->input);
    size_t unused, total;
    if (!o->images || o->receives) return STATUS_OK;
    NEED(cuda_check(d, cudaMemGetInfo(&unused, &total), "reading its free memory", err));
    if (o->image_count * bytes > unused / 2) return STATUS_OK;
    NEED(cuda_take(d, o->image_count * bytes, &in->data_set, err));
    return send_images(in->data_set, o, bytes, d, err);
}

// ---- The model, its gradient buffers, and results ----

static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

// The groups of an update's rule.
static status take_groups(model_arrays *m, const cuda_plan *p, cuda_device *d, error *err) {
    const size_t lines = round_up(p->program->parameters, ARENA_ALIGNMENT) / ARENA_ALIGNMENT;
    if (!p->options.parameter_groups) return STATUS_OK;
    NEED(cuda_take(d, lines, &m->parameter_groups, err));
    NEED(cuda_enqueue_copy(d, m->parameter_groups, p->options.parameter_groups, lines,
                           cudaMemcpyHostToDevice, "sending the groups of parameters", err));
    return cuda_device_sync(d, err);
}

status cuda_take_model(model_arrays *m, const cuda_plan *p, cuda_device *d, error *err) {
    const size_t bytes = p->program->parameters * sizeof(float);
    m->own_end = p->program->parameters;
    if (p->options.stage) units_own_part(p->program, &m->own_first, &m->own_end);
    // The padding after the last tensor is zero and stays so.
    m->own_end = round_up(m->own_end, ARENA_ALIGNMENT);
    NEED(cuda_take(d, bytes, &m->parameters, err));
    NEED(cuda_take(d, p->program->buffers * sizeof(float), &m->buffers, err));
    for (int i = 0; i < optimizer_states(p->kind); i++)
        NEED(cuda_take(d, bytes, &m->state[i], err));
    NEED(cuda_take(d, sizeof *m->progress, &m->progress, err));
    return take_groups(m, p, d, err);
}

status cuda_take_gradients(gradient_arrays *r, size_t most, const cuda_plan *p, cuda_device *d,
                           error *err) {
    const size_t local = (size_t)p->options.local_shards;
    const size_t bytes = gradient_floats(p->program) * sizeof(float);
    r->floats = r->stride = round_up(gradient_floats(p->program), ARENA_ALIGNMENT);
    if (local < (size_t)p->options.shards)
        r->stride += round_up(cuda_slice_margin(p->options.shards), ARENA_ALIGNMENT);
    if (local > 1) NEED(cuda_take(d, local * r->stride * sizeof(float), &r->of_shards, err));
    NEED(cuda_take(d, most * r->stride * sizeof(float), &r->sums, err));
    if (local == 1) r->of_shards = r->sums;
    for (size_t k = 0; k < most; k++) NEED(cuda_take_host(d, bytes, &r->host[k], err));
    // A sum made entirely here needs no second buffer.
    r->reduced_host = r->host[0];
    if (most > 1) NEED(cuda_take_host(d, bytes, &r->reduced_host, err));
    NEED(cuda_take(d, local * (size_t)p->groups * sizeof(float), &r->losses, err));
    return cuda_take(d, local * sizeof *r->loss_counters, &r->loss_counters, err);
}

status cuda_take_results(result_arrays *r, const cuda_plan *p, cuda_device *d, error *err) {
    const size_t logits = (size_t)p->options.local_shards * (size_t)p->program->classes *
                          (size_t)p->lanes * sizeof(float);
    NEED(cuda_take(d, ENGINE_PENDING * sizeof *r->device, &r->device, err));
    NEED(cuda_take_host(d, ENGINE_PENDING * sizeof *r->host, &r->host, err));
    return cuda_take_host(d, logits, &r->logits_host, err);
}

status cuda_take_exchange(exchange_arrays *x, const cuda_plan *p, cuda_device *d, error *err) {
    const engine_options *o = &p->options;
    const size_t local_groups = (size_t)o->local_shards * (size_t)p->groups;
    const size_t groups = (size_t)o->shards * (size_t)p->groups;
    const size_t in = o->receives ? block_floats(p->program->input) : 0;
    const size_t out = o->sends ? block_floats(program_output(p->program)) : 0;
    NEED(cuda_take(d, local_groups * (in > out ? in : out) * sizeof(float), &x->blocks, err));
    if (o->stage || !o->sends) return STATUS_OK; // it computes no loss for others
    x->all_groups = (int)groups;
    NEED(cuda_take(d, groups * sizeof(int), &x->samples, err));
    NEED(cuda_take_host(d, groups * sizeof(int), &x->samples_host, err));
    NEED(cuda_take(d, groups * GROUP * sizeof *x->targets, &x->targets, err));
    return cuda_take_host(d, groups * GROUP * sizeof *x->targets_host, &x->targets_host, err);
}
