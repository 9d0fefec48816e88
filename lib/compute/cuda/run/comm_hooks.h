// SPDX-License-Identifier: MIT
// comm_hooks.h - ranks that reduce on their devices, as a step sees them. The folder `comm` lies
// above this one and fills in the table.
#ifndef LOCKSTEP_COMPUTE_CUDA_RUN_COMM_HOOKS_H
#define LOCKSTEP_COMPUTE_CUDA_RUN_COMM_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct cuda_comm cuda_comm;

typedef struct comm_hooks {
    // Waits until the reductions under way are done, here and as far as other ranks depend on it.
    status (*finish)(cuda_comm *c, error *err);
    // Waits until the device no longer uses the blocks of this turn.
    status (*wait_for_turn)(cuda_comm *c, error *err);
    // Does this reduction match the graphs'? If there are none yet, the first full step's reduction
    // becomes theirs.
    bool (*fits_graph)(cuda_comm *c);
    // Have the transport's own threads enqueued all they were given, or failed? If they have not
    // after a while, the device is stuck.
    bool (*is_idle)(cuda_comm *c);
    // While a step is enqueued: enqueues the bucket that operation `behind` completes, if there is
    // one. `forked`: some of it comes from the side stream.
    status (*reduce_behind)(cuda_comm *c, int behind, bool forked, error *err);
    status (*join_buckets)(cuda_comm *c, error *err); // the main stream continues after them
    // Returns how long the buckets of the last marked step took, including waiting for other ranks;
    // ns.
    uint64_t (*time_of_buckets)(const cuda_comm *c);
    void (*abort)(cuda_comm *c); // something has failed
} comm_hooks;

// An engine's place among ranks that reduce on their devices.
typedef struct comm_place {
    cuda_comm *comm; // NULL: it is in none
    const comm_hooks *hooks;
    bool has_buckets; // a reduction can be part of a step
    bool waits;       // one waits for update(), which runs it
    bool under_way;   // one has not yet been waited for
    bool captured;    // the graphs fix the number of its terms
    bool failed;      // nothing is reduced any more
} comm_place;

// Waits for the reductions under way.
static inline status cuda_finish_reductions(const comm_place *p, error *err) {
    return p->under_way ? p->hooks->finish(p->comm, err) : STATUS_OK;
}

#endif
