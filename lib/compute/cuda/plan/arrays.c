// SPDX-License-Identifier: MIT
// Selection and sizes of an engine's arrays. placement.c takes those for activations.
#include <string.h>

#include "compute/cuda/engine.h"
#include "compute/cuda/group/group.h"

static void make_room(parts_room *most, parts_room room) {
    if (room.parts > most->parts) most->parts = room.parts;
    if (room.counters > most->counters) most->counters = room.counters;
}

// Only one norm, of batches or groups, makes its moments or its gradient at a time, so they share
// this memory.
static status take_parts(engine *e, error *err) {
    const int shards = e->options.local_shards;
    parts_room most = {0, 0};
    status rc;
    for (int i = 0; i < e->units.count; i++) {
        const cuda_unit *u = &e->placed[i];
        if (u->layers.norm && !u->has_sums) {
            const tail_task t = {.size = u->layers.z, .pool = u->layers.pool};
            make_room(&most, e->sums_by->tail_sums_room(&t, e->lanes, shards));
        }
        if (u->layers.norm && !u->makes_moments)
            make_room(&most, e->sums_by->moments_room(u->layers.z, e->lanes, shards));
        if (u->layers.alone && u->layers.alone->kind == LAYER_GROUP_NORM)
            make_room(&most, cuda_group_norm_room(u->layers.x, e->lanes, shards));
        if (!u->ours) continue;
        const conv_task t = cuda_conv_task_of(u->layers.core);
        if (u->makes_moments) make_room(&most, cuda_conv_moments_room(&t, e->lanes, shards));
        if (u->sums_of) make_room(&most, cuda_conv_input_sums_room(&t, e->lanes, shards));
    }
    TRY(cuda_take(e, most.parts * sizeof *e->norm.parts, &e->norm.parts, err));
    TRY(cuda_take(e, most.counters * sizeof *e->norm.counters, &e->norm.counters, err));
out:
    return rc;
}

static status take_norms(engine *e, error *err) {
    norm_memory *n = &e->norm;
    const size_t channels = e->units.norm_channels;
    const size_t own = (size_t)e->options.local_shards * channels * sizeof(float);
    const size_t row = 2 * channels * sizeof(double); // for all norms: enough for each of them
    const bool exchanges = e->options.sync_batch_norm && e->options.exchange;
    float **rows[] = {&n->mean,  &n->mean_rest, &n->inv_std, &n->scale,
                      &n->shift, &n->from_dy,   &n->from_z,  &n->from_one};
    status rc = STATUS_OK;
    if (channels == 0) return rc;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) TRY(cuda_take(e, own, rows[i], err));
    TRY(cuda_take(e, channels * sizeof(float), &n->run_scale, err));
    TRY(cuda_take(e, channels * sizeof(float), &n->run_shift, err));
    TRY(cuda_take(e, (size_t)e->options.local_shards * row, &n->own, err));
    n->all = n->own;
    if (!exchanges) return rc;
    TRY(cuda_take(e, (size_t)e->options.shards * row, &n->all, err));
    TRY(cuda_take_host(e, (size_t)e->options.local_shards * row, &n->own_host, err));
    TRY(cuda_take_host(e, (size_t)e->options.shards * row, &n->all_host, err));
out:
    return rc;
}

// Lays out the arrays of a step input one after the other; returns their total bytes.
static size_t lay_out_input(const engine *e, char *base, step_input *in) {
    enum { ALIGNMENT = 16 };
    const size_t local = (size_t)e->options.local_shards, lanes = local * (size_t)e->lanes;
    const size_t image = e->options.receives ? 0 : shape_size(e->program->input);
    const struct {
        void *pointer;
        size_t bytes;
    } parts[] = {{&in->numbers, sizeof *in->numbers},
                 {&in->count, local * sizeof *in->count},
                 {&in->all_count, (size_t)e->options.shards * sizeof *in->all_count},
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

static status take_input(engine *e, error *err) {
    char *host, *device;
    status rc = STATUS_OK;
    e->input_bytes = lay_out_input(e, NULL, &e->host);
    for (int i = 0; i < STEPS_AHEAD; i++) {
        input_turn *t = &e->ahead[i];
        TRY(cuda_take(e, e->input_bytes, &device, err));
        (void)lay_out_input(e, device, &t->device);
        TRY(cuda_take_host(e, e->input_bytes, &host, err));
        (void)lay_out_input(e, host, &t->host);
    }
    e->host = e->ahead[0].host;
    e->device = e->ahead[0].device;
    TRY(cuda_take_host(e, STEPS_AHEAD * sizeof *e->rules, &e->rules, err));
    TRY(cuda_take(e, sizeof *e->progress, &e->progress, err));
    TRY(cuda_take(e, ENGINE_PENDING * sizeof *e->results, &e->results, err));
    TRY(cuda_take_host(e, ENGINE_PENDING * sizeof *e->results_host, &e->results_host, err));
out:
    return rc;
}

static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

// Writes the maximum number of records that leave the engine in a step.
static status count_records(engine *e, size_t *most, error *err) {
    for (int v = 0; v < e->options.shards; v++) e->shard_groups[v] = 1;
    status rc = reduction_tree_init(&e->tree, e->shard_groups, e->options.shards, err);
    if (rc != STATUS_OK) return rc;
    *most = e->options.local_shards == e->options.shards ? 1 : 2 * (size_t)e->tree.depth;
    reduction_tree_release(&e->tree);
    return STATUS_OK;
}

// The groups of an update's rule.
static status take_groups(engine *e, error *err) {
    const size_t lines = (e->program->parameters + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
    status rc = STATUS_OK;
    if (!e->options.groups) return rc;
    TRY(cuda_take(e, lines, &e->group_of, err));
    TRY(cuda_check(
        e,
        cudaMemcpyAsync(e->group_of, e->options.groups, lines, cudaMemcpyHostToDevice, e->stream),
        "sending the groups of parameters", err));
    TRY(cuda_sync(e, err));
out:
    return rc;
}

static status take_arenas(engine *e, error *err) {
    const program *p = e->program;
    const size_t local = (size_t)e->options.local_shards, bytes = p->parameters * sizeof(float);
    size_t most;
    status rc;
    TRY(cuda_take(e, bytes, &e->parameters, err));
    TRY(cuda_take(e, p->buffers * sizeof(float), &e->buffers, err));
    for (int i = 0; i < update_state_arrays(e->kind); i++)
        TRY(cuda_take(e, bytes, &e->state[i], err));
    TRY(count_records(e, &most, err));
    e->record = round_up(record_floats(p), ARENA_ALIGNMENT);
    e->stride = e->record;
    if (local < (size_t)e->options.shards)
        e->stride += round_up(cuda_group_margin(e->options.shards), ARENA_ALIGNMENT);
    if (local > 1) TRY(cuda_take(e, local * e->stride * sizeof(float), &e->records, err));
    TRY(cuda_take(e, most * e->stride * sizeof(float), &e->sums, err));
    if (local == 1) e->records = e->sums;
    for (size_t k = 0; k < most; k++)
        TRY(cuda_take_host(e, record_floats(p) * sizeof(float), &e->records_host[k], err));
    // A sum made entirely here needs no second buffer.
    e->reduced_host = e->records_host[0];
    if (most > 1) TRY(cuda_take_host(e, record_floats(p) * sizeof(float), &e->reduced_host, err));
    TRY(cuda_take(e, local * (size_t)e->groups * sizeof(float), &e->losses, err));
    TRY(cuda_take(e, local * sizeof *e->loss_counters, &e->loss_counters, err));
out:
    return rc;
}

// Arrays for strategies that divide a step.
static status take_exchange(engine *e, error *err) {
    const engine_options *o = &e->options;
    const size_t local_groups = (size_t)o->local_shards * (size_t)e->groups;
    const size_t groups = (size_t)o->shards * (size_t)e->groups;
    status rc = STATUS_OK;
    if (o->stage) {
        const size_t in = o->receives ? cuda_stage_floats(e, false) : 0;
        const size_t out = o->sends ? cuda_stage_floats(e, true) : 0;
        return cuda_take(e, local_groups * (in > out ? in : out) * sizeof(float), &e->blocks, err);
    }
    if (!o->apart) return rc;
    e->all_groups = (int)groups;
    TRY(cuda_take(e, local_groups * (size_t)e->program->classes * GROUP * sizeof(float), &e->blocks,
                  err));
    TRY(cuda_take(e, groups * sizeof(int), &e->group_samples, err));
    TRY(cuda_take_host(e, groups * sizeof(int), &e->group_samples_host, err));
    TRY(cuda_take(e, groups * GROUP * sizeof *e->group_targets, &e->group_targets, err));
    TRY(cuda_take_host(e, groups * GROUP * sizeof *e->group_targets_host, &e->group_targets_host,
                       err));
out:
    return rc;
}

status cuda_take_arrays(engine *e, error *err) {
    const size_t logits = (size_t)e->options.local_shards * (size_t)e->program->classes *
                          (size_t)e->lanes * sizeof(float);
    status rc;
    TRY(take_norms(e, err));
    TRY(take_parts(e, err));
    TRY(take_input(e, err));
    TRY(take_arenas(e, err));
    TRY(take_groups(e, err));
    TRY(cuda_take_running(e, err));
    TRY(take_exchange(e, err));
    TRY(cuda_take_host(e, logits, &e->logits_host, err));
out:
    return rc;
}

// ---- The data set ----

// Sends the host's images, which are often contiguous: then one copy moves many of them.
static status send_images(engine *e, size_t bytes, error *err) {
    const uint8_t *const *images = e->options.images;
    const size_t count = e->options.image_count;
    status rc = STATUS_OK;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && images[end] == images[end - 1] + bytes;) end++;
        TRY(cuda_check(e,
                       cudaMemcpyAsync(e->images + first * bytes, images[first],
                                       (end - first) * bytes, cudaMemcpyHostToDevice, e->stream),
                       "sending the data set", err));
    }
    TRY(cuda_sync(e, err));
out:
    return rc;
}

// The data set stays on the device if it takes no more than half of the free memory: other engines,
// processes and libraries need room as well. Otherwise every step sends its images, and the device
// augments those. Each engine has its own copy, even if several share a device.
status cuda_take_images(engine *e, error *err) {
    const engine_options *o = &e->options;
    const size_t bytes = shape_size(e->program->input);
    size_t unused, total;
    status rc = STATUS_OK;
    if (!o->images || o->receives) return rc;
    TRY(cuda_check(e, cudaMemGetInfo(&unused, &total), "reading its free memory", err));
    if (o->image_count * bytes > unused / 2) return rc;
    TRY(cuda_take(e, o->image_count * bytes, &e->images, err));
    rc = send_images(e, bytes, err);
out:
    return rc;
}
