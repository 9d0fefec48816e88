// SPDX-License-Identifier: MIT
// hooks.h - a group of ranks that reduce on their devices, as a step sees it. The folder `group`
// lies above this one and fills in the table.
#ifndef LOCKSTEP_COMPUTE_CUDA_RUN_HOOKS_H
#define LOCKSTEP_COMPUTE_CUDA_RUN_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct cuda_group cuda_group;

typedef struct group_hooks {
    // Waits until the reductions under way are done, here and as far as other ranks depend on it.
    status (*finish)(cuda_group *g, error *err);
    // Waits until the device no longer uses the blocks of this turn.
    status (*wait_for_turn)(cuda_group *g, error *err);
    // Does this reduction match the graphs'? If there are none yet, the first full step's reduction
    // becomes theirs.
    bool (*fits_graph)(cuda_group *g);
    // Have the transport's own threads enqueued all they were given, or failed? If they have not
    // after a while, the device is stuck.
    bool (*is_idle)(cuda_group *g);
    // While a step is enqueued: enqueues the bucket that operation `behind` completes, if there is
    // one. `forked`: some of it comes from the side stream.
    status (*reduce_behind)(cuda_group *g, int behind, bool forked, error *err);
    status (*join_buckets)(cuda_group *g, error *err); // the main stream continues after them
    // Returns how long the buckets of the last marked step took, including waiting for other ranks;
    // ns.
    uint64_t (*time_of_buckets)(const cuda_group *g);
    void (*abort)(cuda_group *g); // something has failed
} group_hooks;

// An engine's place in a group.
typedef struct group_place {
    cuda_group *group; // NULL: it is in none
    const group_hooks *hooks;
    bool has_buckets; // a reduction can be part of a step
    bool waits;       // one waits for update(), which runs it
    bool under_way;   // one has not yet been waited for
    bool captured;    // the graphs fix the number of its terms
    bool failed;      // nothing is reduced any more
} group_place;

#endif
