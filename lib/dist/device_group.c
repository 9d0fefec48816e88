// SPDX-License-Identifier: MIT
#include "dist/device_group.h"

#include <assert.h>

static_assert((int)BACKEND_ALIVE_MS == (int)COMM_ALIVE_MS, "engines ask as often as groups expect");

// Smaller messages are dominated by latency; PyTorch's first bucket has the same size. A model with
// more parameters uses several buckets.
enum { BUCKET = 1 << 18 };

static status gather(void *context, const void *mine, size_t bytes, void *all, error *err) {
    comm *c = context;
    return c->ops->all_gather(c, mine, bytes, all, err);
}

static status alive(void *context, error *err) {
    comm *c = context;
    return c->ops->alive(c, err);
}

engine_comm device_group(comm *c) {
    return (engine_comm){.rank = c->rank,
                         .size = c->size,
                         .bucket = BUCKET,
                         .all_gather = gather,
                         .alive = alive,
                         .context = c};
}
