// SPDX-License-Identifier: MIT
// device_group.h - the process group as seen by engines that reduce among themselves.
#ifndef LOCKSTEP_DIST_DEVICE_GROUP_H
#define LOCKSTEP_DIST_DEVICE_GROUP_H

#include "compute/backend.h"
#include "dist/comm.h"

// Returns the argument of comm_join: this rank's place and the group's collectives. `c` must
// outlive it.
engine_comm device_group(comm *c);

#endif
