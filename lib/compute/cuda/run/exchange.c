// SPDX-License-Identifier: MIT
// What crosses between engines: activations, logits and their gradients, as blocks of
// [features][GROUP], written into the memory of the engine that reads them (peers.c), wherever that
// is; and the loss of logits from several engines.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/run/cuda_engine.h"

static status copy(const cuda_device *d, void *to, const void *from, size_t floats, error *err) {
    return cuda_enqueue_copy(d, to, from, floats * sizeof(float), cudaMemcpyDefault,
                             "exchanging activations", err);
}

// ---- The loss ----

// The loss kernel treats each group as a shard of GROUP lanes.
static int copy_targets(const exchange_arrays *x, const batch *whole) {
    int groups = 0;
    const sample_target *targets = whole->targets;
    memset(x->targets_host, 0, (size_t)x->all_groups * GROUP * sizeof *targets);
    for (int v = 0; v < whole->shards; v++)
        for (int done = 0; done < whole->count[v]; done += GROUP, groups++) {
            const int left = whole->count[v] - done, samples = left < GROUP ? left : (int)GROUP;
            x->samples_host[groups] = samples;
            memcpy(x->targets_host + (size_t)groups * GROUP, targets,
                   (size_t)samples * sizeof *targets);
            targets += samples;
        }
    return groups;
}

static status loss_of_groups(engine *e, int groups, float *logits, float *losses, error *err) {
    static const char what[] = "sending targets";
    const cuda_device *d = &e->device;
    const exchange_arrays *x = &e->exchange;
    const size_t samples = (size_t)groups * sizeof *x->samples;
    const size_t targets = (size_t)groups * GROUP * sizeof *x->targets;
    const cut c = {0, groups, GROUP, x->samples};
    const cuda_loss_task t = {.classes = e->plan.program->classes,
                              .smoothing = e->plan.options.label_smoothing,
                              .targets = x->targets,
                              .logits = logits,
                              .losses = losses};
    NEED(cuda_select(d, err));
    NEED(cuda_enqueue_copy(d, x->samples, x->samples_host, samples, cudaMemcpyHostToDevice, what,
                           err));
    NEED(cuda_enqueue_copy(d, x->targets, x->targets_host, targets, cudaMemcpyHostToDevice, what,
                           err));
    cuda_loss(cuda_main(d), &c, &t);
    NEED(cuda_check(d, cudaGetLastError(), "computing a loss", err));
    return cuda_sync(e, err);
}

void cuda_loss_of_all(engine *e, const batch *whole, float *logits, float *losses) {
    const uint64_t begin = clock_now();
    const int groups = copy_targets(&e->exchange, whole);
    cuda_device *d = &e->device;
    if (d->failed == STATUS_OK) d->failed = loss_of_groups(e, groups, logits, losses, &d->failure);
    e->clock.times.ns[PHASE_FORWARD] += clock_now() - begin;
}

// ---- Blocks ----

// Returns the groups of local shards [first, end).
static void groups_of(const step_shards *s, const int *at, int first, int end, size_t *first_group,
                      size_t *count) {
    const int shards = cuda_own_shards(s);
    *first_group = (size_t)(first < shards ? at[first] : s->groups);
    *count = (size_t)(end < shards ? at[end] : s->groups) - *first_group;
}

status cuda_receive_blocks(const engine *e, const cut *c, size_t features, float *to, error *err) {
    const blocks_task t = {features, e->input.device.first_group, to,
                           (float *)e->part.in}; // only read
    cuda_blocks_import(cuda_main(&e->device), c, &t);
    return cuda_check(&e->device, cudaGetLastError(), "exchanging activations", err);
}

status cuda_send_blocks(const engine *e, const cut *c, size_t features, const float *from,
                        error *err) {
    const cuda_device *d = &e->device;
    const size_t floats = features * GROUP;
    float *const blocks = e->exchange.blocks;
    const blocks_task t = {features, e->input.device.first_group, (float *)from, blocks};
    size_t first, count;
    groups_of(&e->shards, e->input.host.first_group, c->first, c->end, &first, &count);
    cuda_blocks_export(cuda_main(d), c, &t);
    NEED(copy(d, e->part.out + first * floats, blocks + first * floats, count * floats, err));
    return cuda_check(d, cudaGetLastError(), "exchanging activations", err);
}
