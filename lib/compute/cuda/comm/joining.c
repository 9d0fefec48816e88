// SPDX-License-Identifier: MIT
// How ranks join and leave, and which transport they take.
#include "compute/cuda/comm/cuda_comm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// ---- Joining and leaving ----

static bool find_device(const cuda_comm *c, unsigned char id[COMM_DEVICE_BYTES]) {
    struct cudaDeviceProp properties;
    static_assert(sizeof properties.uuid == COMM_DEVICE_BYTES, "a device is its UUID");
    if (cudaGetDeviceProperties(&properties, c->device->index) != cudaSuccess) {
        (void)cudaGetLastError(); // not a failure of the engine
        return false;
    }
    memcpy(id, &properties.uuid, COMM_DEVICE_BYTES);
    return true;
}

static status gather_cards(const cuda_comm *c, comm_card *cards, error *err) {
    const engine_comm *ranks = &c->ranks;
    comm_card mine;
    memset(&mine, 0, sizeof mine);
    mine.has_device = find_device(c, mine.device);
    mine.gradient_floats = c->gradients->stride;
    mine.shards = (size_t)c->shards->count;
    mine.nccl = cuda_nccl.available();
    status rc = ranks->all_gather(ranks->context, &mine, sizeof mine, cards, err);
    for (int r = 1; rc == STATUS_OK && r < ranks->size; r++)
        if (cards[r].gradient_floats != cards[0].gradient_floats ||
            cards[r].shards != cards[0].shards)
            rc = error_set(err, STATUS_FAILED,
                           "cannot reduce: the records of rank %d and rank 0 differ in shape", r);
    return rc;
}

static status take_memory(cuda_comm *c, error *err) {
    const size_t shards = (size_t)c->shards->count, size = (size_t)c->ranks.size;
    c->node = memory_new(shards, sizeof *c->node);
    c->first_term = memory_new(size + 1, sizeof *c->first_term);
    c->arrived = memory_new(size, sizeof *c->arrived);
    NEED(cuda_take(c->device, (shards + size) * sizeof *c->merges, &c->merges, err));
    NEED(cuda_take_host(c->device, (shards + size) * sizeof *c->merges, &c->merges_host, err));
    for (size_t r = 0; r < size; r++) c->merges_host[shards + r] = r > 0;
    c->order_changed = true;
    return cuda_take_host(c->device, STEPS_AHEAD * GRADIENT_TAIL * sizeof *c->requests,
                          &c->requests, err);
}

// Ranks that tried a transport in vain may have opened memory of others: they meet after that.
static status choose_transport(cuda_comm *c, const comm_card *cards, error *why, error *err) {
    static const comm_transport *const known[] = {&cuda_nccl, &cuda_ipc};
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool joined = false;
        c->transport = known[i];
        TRY(c->transport->join(c, cards, &joined, why, err));
        if (joined) return rc;
        c->transport->leave(c);
        c->transport = NULL;
        TRY(cuda_comm_barrier(c, err));
    }
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

static const comm_hooks hooks = {.finish = cuda_comm_finish,
                                 .wait_for_turn = cuda_comm_wait_for_turn,
                                 .fits_graph = cuda_comm_fits_graph,
                                 .is_idle = cuda_comm_is_idle,
                                 .reduce_behind = cuda_reduce_bucket_behind,
                                 .join_buckets = cuda_wait_for_buckets,
                                 .time_of_buckets = cuda_time_of_buckets,
                                 .abort = cuda_comm_abort};

static cuda_comm *new_comm(engine *e, const engine_comm *ranks) {
    cuda_comm *c = memory_new(1, sizeof *c);
    c->engine = e;
    c->device = &e->device;
    c->plan = &e->plan;
    c->shards = &e->shards;
    c->gradients = &e->gradients;
    c->place = &e->place;
    c->ranks = *ranks;
    return c;
}

status cuda_comm_join(engine *e, const engine_comm *ranks, comm_way *way, error *why, error *err) {
    comm_card *cards = memory_new((size_t)ranks->size, sizeof *cards);
    cuda_comm *c = new_comm(e, ranks);
    status rc = STATUS_OK;
    *way = (comm_way){.transport = NULL};
    e->place = (comm_place){.comm = c, .hooks = &hooks}; // cuda_comm_close frees it
    TRY(cuda_select(c->device, err));
    TRY(take_memory(c, err));
    TRY(gather_cards(c, cards, err));
    TRY(choose_transport(c, cards, why, err));
    if (!c->transport) {
        cuda_comm_close(e);
        goto out;
    }
    if (c->transport->graphable) TRY(cuda_form_buckets(c, err));
    e->place.has_buckets = c->bucket_count > 0;
    *way = (comm_way){c->transport->name, c->bucket_count};
out:
    free(cards);
    return rc;
}

status cuda_comm_leave(engine *e, error *err) {
    cuda_comm *c = e->place.comm;
    status rc;
    if (!c) return STATUS_OK;
    TRY(cuda_begin(c->device, err));
    TRY(cuda_sync(e, err));
    TRY(c->transport->part(c, err));
    TRY(cuda_comm_barrier(c, err));
    cuda_comm_close(e);
out:
    if (rc != STATUS_OK) cuda_comm_abort(c);
    return rc;
}

// The last reduction has been waited for, or something has failed.
void cuda_comm_close(engine *e) {
    cuda_comm *c = e->place.comm;
    if (!c) return;
    if (c->transport) c->transport->leave(c);
    free(c->node);
    free(c->first_term);
    free(c->arrived);
    cuda_forget_buckets(c);
    free(c);
    e->place = (comm_place){.comm = NULL};
}
