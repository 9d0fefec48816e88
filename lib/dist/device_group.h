// device_group.h - what engines that reduce among themselves need of a group of ranks.
#ifndef LOCKSTEP_DIST_DEVICE_GROUP_H
#define LOCKSTEP_DIST_DEVICE_GROUP_H

#include "compute/backend.h"
#include "dist/comm.h"

// For group_join: this rank's place in the group, and the group's collectives. `c` outlives it.
engine_group device_group(comm *c);

#endif
