// SPDX-License-Identifier: MIT
// A step of DataParallel, activity by activity: the replicas' work, each in its own thread, the
// master's work, and their order (strategy_dp.c gives the reasons).
#include <string.h>

#include "base/clock.h"
#include "train/strategy_dp.h"

// ---- Replicas, each in its own thread ----

static size_t samples_before(const batch *b, int shard) {
    size_t n = 0;
    for (int v = 0; v < shard; v++) n += (size_t)b->count[v];
    return n;
}

static size_t groups_before(const batch *b, int shard) {
    size_t n = 0;
    for (int v = 0; v < shard; v++) n += (size_t)((b->count[v] + GROUP - 1) / GROUP);
    return n;
}

static void broadcast_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const uint64_t begin = clock_now();
    if (p->number > 0) x->backend->write(x->engines[p->number], x->parameters, x->buffers, NULL);
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void scatter_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const batch *b = x->batch;
    const uint64_t begin = clock_now();
    p->batch = *b;
    p->batch.first_shard = p->number * x->local_shards;
    p->batch.end_shard = p->batch.first_shard + x->local_shards;
    const size_t first = samples_before(b, p->batch.first_shard);
    const size_t n = samples_before(b, p->batch.end_shard) - first;
    for (size_t i = 0; i < n && !x->kept; i++) {
        uint8_t *image = p->pixels + i * x->sample_bytes;
        memcpy(image, b->pixels[first + i], x->sample_bytes);
        p->images[i] = image;
    }
    memcpy(p->rows, b->rows + first, n * sizeof *p->rows);
    memcpy(p->targets, b->targets + first, n * sizeof *p->targets);
    memcpy(p->ids, b->ids + first, n * sizeof *p->ids);
    p->batch.pixels = p->images;
    p->batch.rows = p->rows;
    p->batch.targets = p->targets;
    p->batch.ids = p->ids;
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void run(part *p, const run_part *of) {
    const executor *x = p->owner;
    p->rc = x->backend->run(x->engines[p->number], &p->batch, of, &p->err);
    p->spent = x->backend->times(x->engines[p->number]);
}

static void forward_body(void *parts, int member) {
    part *p = (part *)parts + member;
    run(p, &(run_part){.end_shard = p->owner->local_shards, .out = p->logits});
}

// The position of this replica's logits among those of all, in groups; and their number.
static size_t first_group(const part *p) {
    return groups_before(&p->batch, p->batch.first_shard);
}
static size_t group_count(const part *p) {
    return groups_before(&p->batch, p->batch.end_shard) - first_group(p);
}

static void gather_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const uint64_t begin = clock_now();
    const size_t block = dp_block(x);
    const engine_copy c = {x->logits + first_group(p) * block, p->logits, group_count(p) * block};
    p->rc = x->backend->copy(x->engines[p->number], &c, 1, &p->err);
    p->spent.ns[PHASE_COPY] = clock_now() - begin;
}

static void backward_body(void *parts, int member) {
    part *p = (part *)parts + member;
    run(p, &(run_part){.backward = true,
                       .end_shard = p->owner->local_shards,
                       .in = p->logits,
                       .losses = p->losses});
}

status dp_exchange(void *context, const void *mine, size_t bytes_per_shard, void *rows,
                   error *err) {
    (void)err;
    part *p = context;
    executor *x = p->owner;
    const size_t bytes = bytes_per_shard * (size_t)x->local_shards;
    memcpy(x->sync + bytes * (size_t)p->number, mine, bytes);
    team_barrier(x->team);
    memcpy(rows, x->sync, bytes_per_shard * (size_t)x->shards);
    team_barrier(x->team);
    return STATUS_OK;
}

// ---- The master ----

static void loss_at_master(executor *x) {
    const uint64_t begin = clock_now();
    x->backend->loss(x->engines[0], x->batch, x->logits, x->losses);
    dp_alone(x, LOSS, PHASE_FORWARD, begin);
}

static status scatter_gradients(executor *x, error *err) {
    const uint64_t begin = clock_now();
    const size_t block = dp_block(x);
    for (int r = 0; r < x->replicas; r++) {
        const part *p = &x->parts[r];
        const size_t first = first_group(p), groups = group_count(p);
        engine_copy *c = &x->copies[2 * r];
        c[0] = (engine_copy){p->logits, x->logits + first * block, groups * block};
        c[1] = (engine_copy){p->losses, x->losses + first, groups};
    }
    const status rc = x->backend->copy(x->engines[0], x->copies, 2 * x->replicas, err);
    dp_alone(x, SCATTER_GRADIENT, PHASE_COPY, begin);
    return rc;
}

static status reduce_to_master(executor *x, error *err) {
    const uint64_t begin = clock_now();
    const status rc = x->backend->reduce(x->engines, x->replicas, !x->reduce_fast, err);
    dp_alone(x, REDUCE, PHASE_COMM, begin);
    return rc;
}

// Returns the number of gradient buffers that replicas other than the master have.
static int vectors_sent(const executor *x) {
    const engine_tree tree = x->backend->tree(x->engines[0]);
    int vectors = 0, nodes[2 * REDUCTION_TREE_MAX_DEPTH];
    for (int v = x->local_shards; v < x->shards; v += x->local_shards)
        vectors += reduction_tree_cover(tree.nodes, tree.shard_leaves[v],
                                        tree.shard_leaves[v + x->local_shards], nodes);
    return vectors;
}

static void count_traffic(executor *x) {
    const batch *b = x->batch;
    const uint64_t others = (uint64_t)(x->replicas - 1);
    const uint64_t arenas = x->program->parameters + x->program->buffers;
    const size_t mine = samples_before(b, x->local_shards), total = samples_before(b, x->shards);
    const uint64_t image = x->kept ? sizeof(uint32_t) : x->sample_bytes; // pixels, or a row number
    const uint64_t groups = groups_before(b, x->shards) - groups_before(b, x->local_shards);
    const uint64_t logits = groups * dp_block(x);
    x->bytes[BROADCAST] += others * arenas * sizeof(float);
    x->bytes[SCATTER] += (uint64_t)(total - mine) * (image + sizeof(uint8_t) + sizeof(uint32_t));
    x->bytes[GATHER] += logits * sizeof(float);
    x->bytes[SCATTER_GRADIENT] += logits * sizeof(float);
    x->bytes[REDUCE] += (uint64_t)vectors_sent(x) * x->gradient_floats * sizeof(float);
    x->steps++;
}

status dp_step(executor *x, const batch *b, const update_rule *rule, const bool request[REQUESTS],
               step_result *result, error *err) {
    x->batch = b;
    uint64_t begin = x->began = clock_now();
    NEED(x->backend->read(x->engines[0], x->parameters, x->buffers, NULL, err));
    dp_alone(x, BROADCAST, PHASE_COPY, begin);
    NEED(dp_all(x, BROADCAST, broadcast_body, err));
    NEED(dp_all(x, SCATTER, scatter_body, err));
    NEED(dp_all(x, FORWARD, forward_body, err));
    NEED(dp_all(x, GATHER, gather_body, err));
    loss_at_master(x);
    NEED(scatter_gradients(x, err));
    NEED(dp_all(x, BACKWARD, backward_body, err));
    NEED(reduce_to_master(x, err));
    count_traffic(x);
    begin = clock_now();
    update_rule own = *rule;
    if (x->clips) clipping_apply(&x->clipping, x->backend->reduced(x->engines[0]), b, &own);
    NEED(x->backend->update(x->engines[0], &own, &result->update, err));
    dp_alone(x, UPDATE, PHASE_UPDATE, begin);
    const uint64_t end = trace_clock(x->parts[0].track);
    for (int r = 0; r < x->replicas; r++)
        trace_rest(x->parts[r].track, phase_name(PHASE_WAIT), x->began, end);
    memcpy(result->agreed, request, sizeof result->agreed); // one process: no other requests
    return STATUS_OK;
}
